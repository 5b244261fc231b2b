-- A study of four trials as version 0.1.0 stored it, before steps had a table of their own.
PRAGMA application_id = 1752198961;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE event (
        sequence INTEGER PRIMARY KEY,
        time REAL NOT NULL,
        kind INTEGER NOT NULL,
        trial INTEGER NOT NULL,
        attempt INTEGER NOT NULL,
        body TEXT NOT NULL,
        sum INTEGER NOT NULL
    ) STRICT;
INSERT INTO "event" VALUES(1,1.79535618425724816321e+09,1,0,0,'{"host":"vm","pid":10819,"version":"0.1.0"}',2966105642);
INSERT INTO "event" VALUES(2,1.79535618461817622184e+09,3,1,0,'{"params":{"lr":0.0013057525446485945},"point":[0.3719536269540962]}',3893799983);
INSERT INTO "event" VALUES(3,1.79535618463882517808e+09,4,1,1,'{"cores":1.0,"device_bytes":0,"host_bytes":23416064,"where":"cpu 0"}',3639280453);
INSERT INTO "event" VALUES(4,1.79535618465848517419e+09,5,1,1,'{"grad_norm":0.7726945082346598,"it_s":9672.614261075993,"it_s_overall":9672.614261075993,"iteration":3,"loss_deviation":0.027996618425646134,"loss_trend":0.0272996723651886,"lr":0.0011530085127825578,"metrics":{"loss":0.8674301107724508,"val_accuracy":0.14705882352941177,"val_loss":0.9070308804512024},"peak_bytes":19156992,"samples_s":2476189.250835454,"samples_s_overall":2476189.250835454,"seconds":0.0003101539996350766,"step":1}',828872269);
INSERT INTO "event" VALUES(5,1.7953561846586716175e+09,6,1,1,'{"reason":"1st of 1 at rung 1 (1 step), which promotes from 2 trials on","rule":"asha"}',62040229);
INSERT INTO "event" VALUES(6,1.79535618465880227089e+09,9,1,1,'{"device_bytes":0,"host_bytes":19156992}',946086086);
INSERT INTO "event" VALUES(7,1.79535618466260218622e+09,3,2,0,'{"params":{"lr":0.0020098050113398365},"point":[0.4343846415934127]}',3309650497);
INSERT INTO "event" VALUES(8,1.79535618466853475567e+09,4,2,1,'{"cores":1.0,"device_bytes":0,"host_bytes":23416064,"where":"cpu 0"}',1530964815);
INSERT INTO "event" VALUES(9,1.79535618467003250118e+09,5,2,1,'{"grad_norm":0.7771078944206238,"it_s":10076.88665177684,"it_s_overall":10076.88665177684,"iteration":3,"loss_deviation":0.020476451032748623,"loss_trend":0.013162463903427124,"lr":0.0017747024860146963,"metrics":{"loss":0.6780840357144674,"val_accuracy":0.4803921568627451,"val_loss":0.7116626501083374},"peak_bytes":19156992,"samples_s":2579682.982854871,"samples_s_overall":2579682.982854871,"seconds":0.0002977109998028027,"step":1}',1102549546);
INSERT INTO "event" VALUES(10,1.79535618467014813429e+09,9,2,1,'{"device_bytes":0,"host_bytes":19156992}',3663862651);
INSERT INTO "event" VALUES(11,1.79535618467573380467e+09,5,2,1,'{"grad_norm":0.768467366695404,"it_s":9303.941157517127,"it_s_overall":9675.000612114405,"iteration":6,"loss_deviation":0.018813842368616492,"loss_trend":-0.0024247782570975167,"lr":0.0008304030168274049,"metrics":{"loss":0.6719844142595927,"val_accuracy":0.49019607843137253,"val_loss":0.6998318433761597},"peak_bytes":19423232,"samples_s":2381808.9363243845,"samples_s_overall":2476800.1567012877,"seconds":0.0006201549995239475,"step":2}',2797633395);
INSERT INTO "event" VALUES(12,1.79535618467588281629e+09,6,2,1,'{"reason":"1st of 1 at rung 2 (2 steps), which promotes from 2 trials on","rule":"asha"}',3033239492);
INSERT INTO "event" VALUES(13,1.79535618467677354813e+09,3,3,0,'{"params":{"lr":0.005215130040736082},"point":[0.5724217140509217]}',757877985);
INSERT INTO "event" VALUES(14,1.79535618467754626271e+09,4,3,1,'{"cores":1.0,"device_bytes":0,"host_bytes":23416064,"where":"cpu 0"}',580676611);
INSERT INTO "event" VALUES(15,1.79535618469222569464e+09,5,3,1,'{"grad_norm":0.5305413007736206,"it_s":9308.386843842109,"it_s_overall":9308.386843842109,"iteration":3,"loss_deviation":0.015296510243684124,"loss_trend":-0.015061110258102417,"lr":0.004605075714292403,"metrics":{"loss":0.6633239587148031,"val_accuracy":0.45098039215686275,"val_loss":0.6531476974487305},"peak_bytes":19423232,"samples_s":2382947.03202358,"samples_s_overall":2382947.03202358,"seconds":0.0003222900004402618,"step":1}',450260744);
INSERT INTO "event" VALUES(16,1.79535618469236516953e+09,6,3,1,'{"reason":"1st of 3 at rung 1 (1 step), where no place is free","rule":"asha"}',3883178870);
INSERT INTO "event" VALUES(17,1.79535618469241595269e+09,9,3,1,'{"device_bytes":0,"host_bytes":19423232}',2251912482);
INSERT INTO "event" VALUES(18,1.79535618469318628311e+09,3,4,0,'{"params":{"lr":0.020817599203789724},"point":[0.7728102143046324]}',2993889596);
INSERT INTO "event" VALUES(19,1.79535618469713759417e+09,4,4,1,'{"cores":1.0,"device_bytes":0,"host_bytes":23416064,"where":"cpu 0"}',1308165945);
INSERT INTO "event" VALUES(20,1.7953561846986665725e+09,5,4,1,'{"grad_norm":0.2634810358285904,"it_s":9330.27302293075,"it_s_overall":9330.27302293075,"iteration":3,"loss_deviation":0.023535994415100223,"loss_trend":-0.02026936411857605,"lr":0.01838240269646545,"metrics":{"loss":0.5665463805198669,"val_accuracy":0.8137254901960784,"val_loss":0.5079942941665649},"peak_bytes":19423232,"samples_s":2388549.893870272,"samples_s_overall":2388549.893870272,"seconds":0.0003215339993403177,"step":1}',3106153186);
INSERT INTO "event" VALUES(21,1.79535618469877362255e+09,9,4,1,'{"device_bytes":0,"host_bytes":19423232}',3132932983);
INSERT INTO "event" VALUES(22,1.79535618470355939867e+09,5,4,1,'{"grad_norm":0.23347240189711252,"it_s":10566.096212826355,"it_s_overall":9909.804274746928,"iteration":6,"loss_deviation":0.03761023698679308,"loss_trend":-0.016214349440165927,"lr":0.00860133051932555,"metrics":{"loss":0.512831856807073,"val_accuracy":0.8529411764705882,"val_loss":0.47792741656303406},"peak_bytes":19423232,"samples_s":2704920.6304835468,"samples_s_overall":2536909.8943352136,"seconds":0.0006054609993952909,"step":2}',1326231259);
INSERT INTO "event" VALUES(23,1.79535618470538187022e+09,5,4,1,'{"grad_norm":0.22804100314776102,"it_s":10236.462270768163,"it_s_overall":10016.34891150176,"iteration":9,"loss_deviation":0.036410651472453884,"loss_trend":-0.010066382090250651,"lr":0.00062772742475496,"metrics":{"loss":0.507405698299408,"val_accuracy":0.8627450980392157,"val_loss":0.47139281034469604},"peak_bytes":19423232,"samples_s":2620534.3413166497,"samples_s_overall":2564185.3213444506,"seconds":0.0008985309996205615,"step":3}',3542099351);
INSERT INTO "event" VALUES(24,1.79535618470548486705e+09,8,4,1,'{"reason":"","rule":"","state":"complete"}',2019097155);
INSERT INTO "event" VALUES(25,1.7953561847158186435e+09,7,3,1,'{"charged":false,"outcome":"paused","reason":"promoted"}',187816825);
INSERT INTO "event" VALUES(26,1.79535618471626901623e+09,4,3,2,'{"cores":1.0,"device_bytes":0,"host_bytes":23416064,"where":"cpu 0"}',2080718770);
INSERT INTO "event" VALUES(27,1.79535618471766185758e+09,5,3,2,'{"grad_norm":0.5024726589520773,"it_s":10201.652679724528,"it_s_overall":9734.57070393823,"iteration":6,"loss_deviation":0.016111057219016497,"loss_trend":-0.005943179130554199,"lr":0.0021547661064330987,"metrics":{"loss":0.6474992036819458,"val_accuracy":0.6764705882352942,"val_loss":0.6388229727745056},"peak_bytes":19423232,"samples_s":2611623.086009479,"samples_s_overall":2492050.100208187,"seconds":0.0006163600000945735,"step":2}',2934002789);
INSERT INTO "event" VALUES(28,1.79535618471775937085e+09,6,3,2,'{"reason":"2nd of 3 at rung 2 (2 steps), the best one goes on","rule":"asha"}',3747849419);
INSERT INTO "event" VALUES(29,1.79535618471857666964e+09,8,1,1,'{"reason":"4th of 4 at rung 1 (1 step), the best 2 went on","rule":"asha","state":"stopped"}',1327944331);
INSERT INTO "event" VALUES(30,1.79535618471907377244e+09,8,2,1,'{"reason":"3rd of 3 at rung 2 (2 steps), the best one went on","rule":"asha","state":"stopped"}',2951566892);
INSERT INTO "event" VALUES(31,1795356184.73226,8,3,2,'{"reason":"2nd of 3 at rung 2 (2 steps), the best one went on","rule":"asha","state":"stopped"}',458534861);
INSERT INTO "event" VALUES(32,1.79535618475353431697e+09,2,0,0,'{"reason":"all trials of the budget have ended","seconds":0.49668542700055696}',916172986);
CREATE TABLE study (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
INSERT INTO "study" VALUES('source','study: old
seed: 1
objective: {metric: val_loss, direction: minimize}
space:
  lr: {type: float, low: 1.0e-4, high: 1.0e-1, log: true}
worker:
  task: classification
  data: {format: synthetic, samples: 1024, features: 4, classes: 2}
  model: {type: mlp, hidden: [4]}
  training: {batch_size: 256}
budget: {trials: 4, epochs: 3}
sampler: {type: random}
stopping: [{rule: asha, grace: 1, factor: 2}]
resources: {parallel: 1}
');
CREATE INDEX proposed ON event (trial) WHERE kind = 3;
COMMIT;