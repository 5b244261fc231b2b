// Lines as the programs of many libraries and languages print them, with the metrics that each has.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "orchestrator/script/syntax/metrics.hpp"

#include "tests/support/mentions.hpp"

namespace hpo::script {
namespace {

using Expected = std::vector<std::pair<std::string, double>>;

struct Sample {
    const char* program;
    std::string output;  ///< one line, or several whose last one has the metrics
    Expected expected;
};

std::string text(Expected metrics) {
    std::sort(metrics.begin(), metrics.end());
    std::string all;
    for (const auto& [name, number] : metrics) all += name + "=" + std::to_string(number) + " ";
    return all;
}

/// Reads all lines by one reader. Returns the metrics of the last one.
Expected last_of(const std::string& output) {
    const auto reader = *make_output_reader({});
    Expected metrics;
    for (std::size_t begin = 0; begin <= output.size();) {
        const auto end = std::min(output.find('\n', begin), output.size());
        Reading reading;
        reader->read(std::string_view(output).substr(begin, end - begin), reading);
        metrics.clear();
        for (const NamedNumber& one : reading.metrics) metrics.emplace_back(one.name, one.number);
        begin = end + 1;
    }
    return metrics;
}

void expect_all(const std::vector<Sample>& samples) {
    for (const Sample& sample : samples)
        EXPECT_EQ(text(last_of(sample.output)), text(sample.expected)) << sample.program << ": " << sample.output;
}

/// Returns the metrics of each line, as "name=number", that one reader finds.
std::vector<std::string> read_in_turn(const std::vector<std::string>& lines) {
    const auto reader = *make_output_reader({});
    std::vector<std::string> found;
    for (const std::string& line : lines) {
        Reading reading;
        reader->read(line, reading);
        for (const NamedNumber& metric : reading.metrics)
            found.push_back(metric.name + "=" + std::to_string(metric.number).substr(0, 4));
    }
    return found;
}

TEST(QuotedCode, OfATracebackIsNoMetric) {
    for (const std::string prefix : {"", "[rank0]: ", "  | "})
        EXPECT_EQ(read_in_turn({"val_auc 0.65", prefix + "Traceback (most recent call last):",
                                prefix + "  File \"train.py\", line 6, in f", prefix + "    val_auc = 1.0",
                                prefix + "              ^^^", prefix + "ValueError: val_auc: 3", "val_auc 0.75"}),
                  (std::vector<std::string>{"val_auc=0.65", "val_auc=0.75"}))
            << prefix;
}

TEST(QuotedCode, OfAChainOfTracebacksIsNoMetric) {
    EXPECT_EQ(read_in_turn({"Traceback (most recent call last):", "    loss = 2.0", "zlib.error: loss 3", "",
                            "During handling of the above exception, another exception occurred:", "",
                            "Traceback (most recent call last):", "    loss = 4.0", "KeyboardInterrupt", "loss 0.5"}),
              (std::vector<std::string>{"loss=0.50"}));
}

TEST(QuotedCode, WhatAnotherThreadPrintsWithinATracebackIsRead) {
    EXPECT_EQ(read_in_turn({"Traceback (most recent call last):", "    loss = 2.0", "loss: 0.25", "    loss = 3.0",
                            "RuntimeError: no"}),
              (std::vector<std::string>{"loss=0.25"}));
}

TEST(QuotedCode, OfAWarningIsNoMetricAndWhatFollowsIs) {
    EXPECT_EQ(read_in_turn({"train.py:12: UserWarning: val_auc = 7 is old", "  val_auc = 8.0", "  val_auc 0.5",
                            "/usr/lib/a b.py:3: DeprecationWarning: x = 1", "loss 0.25", "Warning: loss 0.75"}),
              (std::vector<std::string>{"val_auc=0.50", "loss=0.25", "loss=0.75"}));
}

TEST(OutputLines, OfPyTorchExamplesAndLibrariesOnIt) {
    expect_all({
        {"mnist", "Train Epoch: 1 [0/60000 (0%)]\tLoss: 2.305400", {{"Epoch", 1}, {"Train_Loss", 2.3054}}},
        {"mnist test",
         "Test set: Average loss: 0.0501, Accuracy: 9837/10000 (98%)",
         {{"Test_Average_loss", 0.0501}, {"Test_Accuracy", 98}}},
        {"imagenet",
         "Epoch: [0][  10/5005]\tTime  0.5 ( 0.6)\tData  0.1 ( 0.2)\tLoss 6.9e+00 (7.0e+00)\tAcc@1   0.39 (  0.30)",
         {{"Epoch", 0}, {"Time", 0.6}, {"Data", 0.2}, {"Loss", 7.0}, {"Acc@1", 0.3}}},
        {"imagenet test", " *   Acc@1 69.758 Acc@5 89.078", {{"Acc@1", 69.758}, {"Acc@5", 89.078}}},
        {"transfer train", "train Loss: 0.5 Acc: 0.9", {{"train_Loss", 0.5}, {"train_Acc", 0.9}}},
        {"transfer val", "val Loss: 0.6 Acc: 0.7", {{"val_Loss", 0.6}, {"val_Acc", 0.7}}},
        {"transfer best", "Best val Acc: 0.7", {{"Best_val_Acc", 0.7}}},
        {"language model",
         "| end of epoch   1 | time:  5.30s | valid loss  5.22 | valid ppl   185.25",
         {{"epoch", 1}, {"valid_loss", 5.22}, {"valid_ppl", 185.25}}},
        {"nanoGPT",
         "step 250: train loss 2.5, val loss 2.75",
         {{"step", 250}, {"train_loss", 2.5}, {"val_loss", 2.75}}},
        {"nanoGPT iter", "iter 10: loss 4.2, time 10.00ms, mfu -100.00%", {{"iter", 10}, {"loss", 4.2}, {"mfu", -100}}},
        {"loop", "epoch 1 train loss=0.5 val loss=0.25", {{"epoch", 1}, {"train_loss", 0.5}, {"val_loss", 0.25}}},
        {"tensor", "val_loss: tensor(0.2500, device='cuda:0', grad_fn=<NllLossBackward0>)", {{"val_loss", 0.25}}},
        {"a rate without a name", "epoch 3 loss 0.25 mem 1.2GB 300 img/s", {{"epoch", 3}, {"loss", 0.25}}},
        {"metrics after a tensor",
         "val_loss: tensor(0.2500, device='cuda:0'), acc: 0.5, f1: np.float64(0.75)",
         {{"val_loss", 0.25}, {"acc", 0.5}, {"f1", 0.75}}},
        {"tensor without a separator",
         "epoch 3 loss tensor(0.2500, device='cuda:0', grad_fn=<NllLossBackward0>) acc np.float64(0.5) f1 0.75",
         {{"epoch", 3}, {"loss", 0.25}, {"acc", 0.5}, {"f1", 0.75}}},
        {"a call is no number", "epoch 3 loss constraint(0.75) saved checkpoint(12)", {}},
        {"a layer is no number", "epoch 3 head Linear(512, 10) loss 0.5", {{"loss", 0.5}}},
        {"timm",
         "Train: 0 [  50/1251 (  4%)]  Loss: 6.91 (6.92)  Time: 1.2s, 100.00/s  LR: 1.000e-05",
         {{"Train_Loss", 6.92}, {"LR", 1e-5}}},
        {"timm test",
         "Test: [  78/78]  Time: 0.1 (0.2)  Loss:   0.81 (1.02)  Acc@1:  80.5 ( 77.3)",
         {{"Time", 0.2}, {"Test_Loss", 1.02}, {"Test_Acc@1", 77.3}}},
        {"fairseq",
         "2024-05-01 12:00:00 | INFO | valid | epoch 001 | valid on 'valid' subset | loss 5.2 | ppl 36.7 | best_loss "
         "5.1",
         {{"epoch", 1}, {"valid_loss", 5.2}, {"valid_ppl", 36.7}, {"valid_best_loss", 5.1}}},
        {"MMDetection",
         "2024-05-01 12:00:00,123 - mmdet - INFO - Epoch [1][50/1000]\tlr: 1.0e-03, eta: 1:00:00, time: 0.5, memory: "
         "1234, loss_cls: 0.5, loss: 1.2",
         {{"lr", 1e-3}, {"time", 0.5}, {"memory", 1234}, {"loss_cls", 0.5}, {"loss", 1.2}}},
        {"mmengine",
         "06/01 12:00:00 - mmengine - INFO - Epoch(val) [1][100/100]    accuracy/top1: 93.2  data_time: 0.01",
         {{"val_accuracy/top1", 93.2}, {"data_time", 0.01}}},
        {"Detectron2",
         "[05/01 12:00:00 d2.utils.events]:  eta: 0:10:00  iter: 19  total_loss: 1.2  lr: 1e-05  max_mem: 2000M",
         {{"iter", 19}, {"total_loss", 1.2}, {"lr", 1e-5}}},
        {"Lightning bar",
         "Epoch 1: 100%|##########| 40/40 [00:01<00:00, 30.21it/s, v_num=0, train_loss=0.5, val_loss=0.4]",
         {{"v_num", 0}, {"train_loss", 0.5}, {"val_loss", 0.4}}},
        {"Lightning table",
         "┃        Test metric        ┃       DataLoader 0        ┃\n┡━━━━━━━━━━━━╇━━━━━━━━━━━┩\n│         val_loss    "
         "      │    0.25    │",
         {{"val_loss", 0.25}}},
        {"Lightning test", "        val_loss            0.25", {{"val_loss", 0.25}}},
        {"Trainer",
         "{'loss': 0.5, 'grad_norm': 1.5, 'learning_rate': 1e-05, 'epoch': 0.5}",
         {{"loss", 0.5}, {"grad_norm", 1.5}, {"learning_rate", 1e-5}, {"epoch", 0.5}}},
        {"Trainer texts",
         "{'eval_loss': '0.4', 'eval_runtime': '1.2', 'epoch': '1'}",
         {{"eval_loss", 0.4}, {"eval_runtime", 1.2}, {"epoch", 1}}},
        {"Trainer summary", "  eval_loss               =     0.4021", {{"eval_loss", 0.4021}}},
        {"fastai",
         "epoch     train_loss  valid_loss  accuracy  time    \n0         0.512000    0.613000    0.7011    00:05     ",
         {{"epoch", 0}, {"train_loss", 0.512}, {"valid_loss", 0.613}, {"accuracy", 0.7011}}},
        {"skorch",
         "  epoch    train_loss    valid_acc    valid_loss     dur\n-------  ------------  -----------  ------------  "
         "------\n      1        0.6869       0.5550        0.6831  0.0233",
         {{"epoch", 1}, {"train_loss", 0.6869}, {"valid_acc", 0.555}, {"valid_loss", 0.6831}, {"dur", 0.0233}}},
        {"YOLO",
         "                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|##########| "
         "1/1\n                   all        128        929       0.64       0.53       0.60       0.44",
         {{"Images", 128}, {"Instances", 929}, {"P", 0.64}, {"R", 0.53}, {"mAP50", 0.6}, {"mAP50-95", 0.44}}},
        {"YOLO keys", "metrics/mAP50-95(B): 0.44", {{"metrics/mAP50-95(B)", 0.44}}},
        {"accelerate", "epoch 0: {'accuracy': 0.81, 'f1': 0.87}", {{"epoch", 0}, {"accuracy", 0.81}, {"f1", 0.87}}},
        {"ignite",
         "Validation Results - Epoch: 1  Avg accuracy: 0.93 Avg loss: 0.25",
         {{"Epoch", 1}, {"Validation_Avg_accuracy", 0.93}, {"Validation_Avg_loss", 0.25}}},
        {"Stable-Baselines",
         "-------------------\n| rollout/           |          |\n|    ep_rew_mean     | 22.5     |",
         {{"rollout/ep_rew_mean", 22.5}}},
        {"spaCy",
         "E    #       LOSS TOK2VEC  LOSS NER  ENTS_F  SCORE \n---  ------  ------------  --------  ------  ------\n  "
         "0     200         56.75   1234.56   45.67    0.46",
         {{"E", 0}, {"LOSS_TOK2VEC", 56.75}, {"LOSS_NER", 1234.56}, {"ENTS_F", 45.67}, {"SCORE", 0.46}}},
    });
}

TEST(OutputLines, OfKerasTensorFlowAndJax) {
    expect_all({
        {"Keras",
         "32/32 [==============================] - 1s 3ms/step - loss: 0.5 - accuracy: 0.9 - val_loss: 0.6 - "
         "val_accuracy: 0.7",
         {{"loss", 0.5}, {"accuracy", 0.9}, {"val_loss", 0.6}, {"val_accuracy", 0.7}}},
        {"Keras 3",
         "32/32 ━━━━━━━━━━━━━━━━━━━━ 1s 3ms/step - loss: 0.5 - val_loss: 0.6",
         {{"loss", 0.5}, {"val_loss", 0.6}}},
        {"Keras checkpoint", "Epoch 5: val_loss improved from 0.60000 to 0.50000, saving model to best.h5", {}},
        {"Keras loop", "Training loss (for one batch) at step 100: 0.25", {{"for_one_batch_Training_loss", 0.25}}},
        {"tutorial",
         "Epoch 1, Loss: 0.13, Accuracy: 96.0, Test Loss: 0.06, Test Accuracy: 98.0",
         {{"Epoch", 1}, {"Loss", 0.13}, {"Accuracy", 96}, {"Test_Loss", 0.06}, {"Test_Accuracy", 98}}},
        {"eager tensor", "loss: <tf.Tensor: shape=(), dtype=float32, numpy=0.25>", {{"loss", 0.25}}},
        {"tf tensor", "loss: tf.Tensor(0.25, shape=(), dtype=float32)", {{"loss", 0.25}}},
        {"Flax",
         "eval epoch: 1, loss: 0.05, accuracy: 98.40",
         {{"epoch", 1}, {"eval_loss", 0.05}, {"eval_accuracy", 98.4}}},
        {"JAX array", "val_loss: Array(0.25, dtype=float32)", {{"val_loss", 0.25}}},
        {"NumPy", "{'acc': np.float64(0.4), 'n': np.int64(3)}", {{"acc", 0.4}, {"n", 3}}},
        {"estimator",
         "INFO:tensorflow:Saving dict for global step 100: accuracy = 0.9, global_step = 100, loss = 0.25",
         {{"accuracy", 0.9}, {"global_step", 100}, {"loss", 0.25}}},
    });
}

TEST(OutputLines, OfBoostingAndClassicalLibraries) {
    expect_all({
        {"XGBoost",
         "[0]\tvalidation_0-logloss:0.65135\tvalidation_1-logloss:0.66",
         {{"validation_0-logloss", 0.65135}, {"validation_1-logloss", 0.66}}},
        {"XGBoost error", "[3]\ttrain-error:0\teval-error:0.0163", {{"train-error", 0}, {"eval-error", 0.0163}}},
        {"LightGBM",
         "[10]\tvalid_0's binary_logloss: 0.55\tvalid_0's auc: 0.81",
         {{"valid_0_binary_logloss", 0.55}, {"valid_0_auc", 0.81}}},
        {"CatBoost",
         "0:\tlearn: 0.6\ttest: 0.5\tbest: 0.5 (0)\ttotal: 50ms\tremaining: 1s",
         {{"learn", 0.6}, {"test", 0.5}, {"best", 0.5}}},
        {"CatBoost end", "bestTest = 0.4215", {{"bestTest", 0.4215}}},
        {"sklearn MLP", "Iteration 1, loss = 2.3", {{"Iteration", 1}, {"loss", 2.3}}},
        {"sklearn SGD",
         "Norm: 1.5, NNZs: 30, Bias: -0.1, T: 1000, Avg. loss: 0.5",
         {{"Norm", 1.5}, {"NNZs", 30}, {"Bias", -0.1}, {"T", 1000}, {"Avg_loss", 0.5}}},
        {"sklearn boosting",
         "      Iter       Train Loss   Remaining Time \n         1           1.2345            1.50s",
         {{"Iter", 1}, {"Train_Loss", 1.2345}}},
        {"sklearn report",
         "              precision    recall  f1-score   support\n\n   macro avg       0.93      0.92      0.91       "
         "360",
         {{"macro_avg_precision", 0.93},
          {"macro_avg_recall", 0.92},
          {"macro_avg_f1-score", 0.91},
          {"macro_avg_support", 360}}},
        {"cross validation", "cv_score: 0.25 (+/- 0.02)", {{"cv_score", 0.25}}},
        {"deviation", "RMSE: 0.25 ± 0.02", {{"RMSE", 0.25}}},
        {"libsvm", "Cross Validation Accuracy = 82.5%", {{"Cross_Validation_Accuracy", 82.5}}},
        {"libsvm svr", "Mean squared error = 0.25 (regression)", {{"Mean_squared_error", 0.25}}},
        {"libsvm training", "optimization finished, #iter = 137", {{"iter", 137}}},
        {"fastText", "P@1\t0.512", {{"P@1", 0.512}}},
        {"fastText bar",
         "Progress: 100.0% words/sec/thread:  123456 lr:  0.000000 avg.loss:  0.25 ETA:   0h 0m 0s",
         {{"Progress", 100}, {"words/sec/thread", 123456}, {"lr", 0}, {"avg.loss", 0.25}}},
        {"Vowpal Wabbit", "average loss = 0.420000", {{"average_loss", 0.42}}},
        {"surprise", "RMSE: 0.9357", {{"RMSE", 0.9357}}},
    });
}

TEST(OutputLines, OfOtherLanguages) {
    expect_all({
        {"R print", "[1] \"RMSE: 0.25\"", {{"RMSE", 0.25}}},
        {"R cat", "RMSE = 0.25", {{"RMSE", 0.25}}},
        {"R vector",
         "     RMSE  Rsquared       MAE \n3.3000000 0.8500000 2.4000000",
         {{"RMSE", 3.3}, {"Rsquared", 0.85}, {"MAE", 2.4}}},
        {"caret",
         "  mtry  RMSE  Rsquared  MAE\n   2    3.3   0.8       2.4",
         {{"mtry", 2}, {"RMSE", 3.3}, {"Rsquared", 0.8}, {"MAE", 2.4}}},
        {"Julia", "[ Info: epoch = 3, loss = 0.25f0", {{"epoch", 3}, {"loss", 0.25}}},
        {"Julia log", "│   val_loss = 0.25", {{"val_loss", 0.25}}},
        {"Go", "2024/05/01 12:00:00 epoch 1 loss 0.25", {{"epoch", 1}, {"loss", 0.25}}},
        {"Go slog",
         "time=2024-05-01T12:00:00.123Z level=INFO msg=\"epoch done\" epoch=1 val_loss=0.25",
         {{"epoch", 1}, {"val_loss", 0.25}}},
        {"zap",
         "{\"level\":\"info\",\"ts\":1714564800.1,\"msg\":\"eval\",\"val_loss\":0.25}",
         {{"ts", 1714564800.1}, {"val_loss", 0.25}}},
        {"Rust",
         "Epoch:    1 | Train loss:  0.50000 | Test acc: 93.20%",
         {{"Epoch", 1}, {"Train_loss", 0.5}, {"Test_acc", 93.2}}},
        {"tracing",
         "2024-05-01T12:00:00.123Z  INFO train: done epoch=1 val_loss=0.25",
         {{"epoch", 1}, {"val_loss", 0.25}}},
        {"Rust option", "val_loss: Some(0.25)", {{"val_loss", 0.25}}},
        {"DL4J",
         "12:00:00.123 [main] INFO o.d.o.l.ScoreIterationListener - Score at iteration 10 is 0.25",
         {{"Score", 0.25}}},
        {"DL4J report", " Accuracy:        0.9500", {{"Accuracy", 0.95}}},
        {"tfjs", "Epoch 1: loss = 0.5, val_loss = 0.25", {{"Epoch", 1}, {"loss", 0.5}, {"val_loss", 0.25}}},
        {"tfjs object", "{ loss: 0.5, val_loss: 0.25 }", {{"loss", 0.5}, {"val_loss", 0.25}}},
        {"C", "epoch,loss,acc\n1,0.5,0.9", {{"epoch", 1}, {"loss", 0.5}, {"acc", 0.9}}},
        {"two lines", "Epoch loss acc\n1 0.5 0.9", {{"Epoch", 1}, {"loss", 0.5}, {"acc", 0.9}}},
        {"MATLAB", "|       1 |          50 |       00:00:05 |       93.75% |       0.25 |       0.0100 |", {}},
        {"German", "val_loss: 0,25", {{"val_loss", 0.25}}},
        {"German percent", "Genauigkeit: 93,5 %", {{"Genauigkeit", 93.5}}},
        {"Chinese", "第1轮 损失：0.25，准确率：0.9", {{"损失", 0.25}, {"准确率", 0.9}}},
        {"Russian", "Точность = 0.9", {{"Точность", 0.9}}},
    });
}

TEST(OutputLines, OfHandWrittenLoops) {
    expect_all({
        {"spaced colon", "val_loss : 0.25", {{"val_loss", 0.25}}},
        {"words with =", "  val loss = 0.25", {{"val_loss", 0.25}}},
        {"current and best",
         "epoch 1 val_loss: 0.25 (best val_loss: 0.10)",
         {{"epoch", 1}, {"val_loss", 0.25}, {"best_val_loss", 0.1}}},
        {"best first", "best val_loss: 0.10, val_loss: 0.25", {{"best_val_loss", 0.1}, {"val_loss", 0.25}}},
        {"best with =",
         "epoch 1 val_loss=0.25 best val_loss=0.10",
         {{"epoch", 1}, {"val_loss", 0.25}, {"best_val_loss", 0.1}}},
        {"twice", "val_loss: 0.25 (val_loss: 0.10)", {{"val_loss", 0.25}}},
        {"arrow", "val_loss -> 0.25", {{"val_loss", 0.25}}},
        {"arrow sign", "val_loss → 0.25", {{"val_loss", 0.25}}},
        {"list", "val_loss: [0.25]", {{"val_loss", 0.25}}},
        {"quotes", "val_loss=\"0.25\"", {{"val_loss", 0.25}}},
        {"unit", "val_loss: 0.25 nats", {{"val_loss", 0.25}}},
        {"unit and next", "speed: 120 samples/s loss: 0.5", {{"speed", 120}, {"loss", 0.5}}},
        {"sentence", "The final accuracy is 0.93.", {{"final_accuracy", 0.93}}},
        {"and", "Test loss: 0.5 and accuracy: 0.9", {{"Test_loss", 0.5}, {"Test_accuracy", 0.9}}},
        {"phase in brackets", "RMSE (val): 0.25", {{"val_RMSE", 0.25}}},
        {"unit in brackets", "time (s): 3.5", {{"time", 3.5}}},
        {"label in brackets", "[val] loss: 0.25", {{"val_loss", 0.25}}},
        {"label and dash", "Validation - loss: 0.25", {{"Validation_loss", 0.25}}},
        {"two labels",
         "train loss 0.5 acc 0.8 val loss 0.6 acc 0.7",
         {{"train_loss", 0.5}, {"train_acc", 0.8}, {"val_loss", 0.6}, {"val_acc", 0.7}}},
        {"logging", "INFO:root:val_loss: 0.25", {{"val_loss", 0.25}}},
        {"logging level", "2024-05-01 12:00:00,123 my.module INFO val_loss=0.25", {{"val_loss", 0.25}}},
        {"logging JSON", "INFO:root:{\"epoch\": 1, \"val_loss\": 0.25}", {{"epoch", 1}, {"val_loss", 0.25}}},
        {"nested JSON",
         "{\"val\": {\"loss\": 0.25, \"acc\": 0.9}, \"epoch\": 1}",
         {{"val.loss", 0.25}, {"val.acc", 0.9}, {"epoch", 1}}},
        {"labelled object", "val: {'loss': 0.25, 'acc': 0.9}", {{"val_loss", 0.25}, {"val_acc", 0.9}}},
        {"indented JSON",
         "{\n  \"train\": {\n    \"loss\": 0.5\n  },\n  \"val\": {\n    \"loss\": 0.25,",
         {{"val_loss", 0.25}}},
        {"heading", "Validation:\n  loss: 0.25", {{"Validation_loss", 0.25}}},
        {"Markdown",
         "| epoch | val_loss | acc |\n|------:|---------:|:---:|\n| 1 | 0.25 | 0.9 |",
         {{"epoch", 1}, {"val_loss", 0.25}, {"acc", 0.9}}},
        {"rows are phases", "phase  loss  acc\ntrain  0.5  0.8\nval  0.6  0.7", {{"val_loss", 0.6}, {"val_acc", 0.7}}},
        {"rows are metrics",
         "| Metric | Train | Val |\n|---|---|---|\n| loss | 0.5 | 0.6 |",
         {{"Train_loss", 0.5}, {"Val_loss", 0.6}}},
        {"rich", "│ val_loss │ 0.25 │", {{"val_loss", 0.25}}},
        {"at", "loss at step 100: 0.25", {{"loss", 0.25}}},
        {"COCO name", "mAP@0.5:0.95: 0.25", {{"mAP@0.5:0.95", 0.25}}},
        {"mAP", "mAP@0.5: 0.25", {{"mAP@0.5", 0.25}}},
        {"R squared", "R^2 = 0.9", {{"R^2", 0.9}}},
        {"emoji", "✅ val_loss: 0.25", {{"val_loss", 0.25}}},
        {"typographic minus", "score: −0.25", {{"score", -0.25}}},
        {"key value with a text", "model=resnet val_loss=0.25", {{"val_loss", 0.25}}},
    });
}

TEST(OutputLines, OfNamesThatStandApartFromTheirNumbers) {
    expect_all({
        {"a count before the colon", "Loss step 100:  0.0115", {{"Loss", 0.0115}}},
        {"a place before the colon", "..Loss value at 3 : 2.06", {{"Loss_value", 2.06}}},
        {"a progress before the name", "epoch 0/100:recons loss: 0.02", {{"recons_loss", 0.02}}},
        {"brackets", "epoch 4 loss [0.08]", {{"epoch", 4}, {"loss", 0.08}}},
        {"a call", "accuracy(m, x, label, 0.0:9) = 0.105", {{"accuracy", 0.105}}},
        {"a call with its data", "acc(model, val) = 0.8", {{"val_acc", 0.8}}},
        {"a call with the names of its data", "mse(x_test, y_test) = 0.8", {{"test_mse", 0.8}}},
        {"a call with an object's data", "acc(net, data.train) = 0.8", {{"train_acc", 0.8}}},
        {"a call with data in camel case", "acc(m, xVal) = 0.8", {{"xVal_acc", 0.8}}},
        {"a call of Flux", "loss(x, y) = param(0.09)", {{"loss", 0.09}}},
        {"a call of a word that holds a type", "loss: Hyperparam(1.0) joint(0.5)", {}},
        {"a sparse array", "loss: ShapedArray(0.5)", {{"loss", 0.5}}},
        {"a tensor of floats", "loss: torch.FloatTensor(0.5)", {{"loss", 0.5}}},
        {"a type of a module", "loss: np.float_(0.5) acc: jnp.bfloat16(0.75)", {{"loss", 0.5}, {"acc", 0.75}}},
        {"a parameter", "loss: Parameter(0.5)", {{"loss", 0.5}}},
        {"MXNet", "loss: NDArray(0.5) acc: ndarray(0.75)", {{"loss", 0.5}, {"acc", 0.75}}},
        {"a bar", "Step    10: eval          Accuracy |  0.85", {{"Step", 10}, {"eval_Accuracy", 0.85}}},
        {"a layer of Caffe",
         "I0914 09:38 6584 solver.cpp:404]     Test net output #0: accuracy = 0.52",
         {{"Test_accuracy", 0.52}}},
        {"an average over epochs", "Training acc over epoch: 0.5", {{"Training_acc_over_epoch", 0.5}}},
    });
}

TEST(OutputLines, OfSeveralNamesInOne) {
    expect_all({
        {"phases",
         "Epoch   1  |  Train/Valid Acc: 10.12/11.50",
         {{"Epoch", 1}, {"Train_Acc", 10.12}, {"Valid_Acc", 11.5}}},
        {"blanks", "train/val loss: 0.5 / 0.6", {{"train_loss", 0.5}, {"val_loss", 0.6}}},
        {"phases behind", "loss (train/val): 0.5/0.6", {{"train_loss", 0.5}, {"val_loss", 0.6}}},
        {"phases behind and blanks",
         "epoch 1 loss (train/val): 0.5 / 0.6, acc (train/val): 7/8",
         {{"epoch", 1}, {"train_loss", 0.5}, {"val_loss", 0.6}, {"train_acc", 7}, {"val_acc", 8}}},
        {"names with blanks", "loss / acc: 0.5 / 0.7", {{"loss", 0.5}, {"acc", 0.7}}},
        {"phases with blanks", "Train / Val acc: 60 / 70", {{"Train_acc", 60}, {"Val_acc", 70}}},
        {"a heading", "trainer / loss: 0.5 acc: 0.75", {{"loss", 0.5}, {"acc", 0.75}}},
        {"parts of a model", "Dis/Gen Cost: 1.290/1.057", {{"Dis_Cost", 1.29}, {"Gen_Cost", 1.057}}},
        {"a name with a sign", "val/acc: 99/100 (99%)", {{"val/acc", 99}}},
        {"words",
         "epoch 1 precision recall f1 = 0.5 0.6 0.7",
         {{"epoch", 1}, {"precision", 0.5}, {"recall", 0.6}, {"f1", 0.7}}},
        {"a name of two words", "f1 score: 0.5 0.6", {{"f1_score", 0.5}}},
        {"one number", "Train/Val Loss: 0.75", {{"Train/Val_Loss", 0.75}}},
    });
}

TEST(OutputLines, OfNumbersWithWhatFollowsThem) {
    expect_all({
        {"a unit", "epoch 1 val_loss=0.91nats lr=1e-3", {{"epoch", 1}, {"val_loss", 0.91}, {"lr", 1e-3}}},
        {"decibels", "psnr: 20.5dB", {{"psnr", 20.5}}},
        {"a whole number of decibels", "psnr 30dB", {{"psnr", 30}}},
        {"one digit with a unit", "loss: 3nats", {{"loss", 3}}},
        {"no sum", "loss: 3+4", {}},
        {"a ratio with blanks", "Accuracy: 9000 / 10000 (90%)", {{"Accuracy", 90}}},
        {"a ratio with blanks and no percentage",
         "epoch 1 Accuracy = 9000 / 10000",
         {{"epoch", 1}, {"Accuracy", 9000}}},
        {"a quotient in brackets",
         "Test: loss: 0.5, Accuracy: 13/16 (0.812)",
         {{"Test_loss", 0.5}, {"Test_Accuracy", 0.812}}},
        {"another number in brackets", "acc: 13/16 (0.25)", {}},
        {"a quotient of progress", "Train: 5/10 (0.5) loss 0.25", {{"Train_loss", 0.25}}},
        {"a ratio that nothing explains", "acc 61/100, loss 0.5", {{"loss", 0.5}}},
        {"a score out of several", "episode 3 Score: 11 / 20", {{"episode", 3}, {"Score", 11}}},
        {"more than all", "acc: 101/100", {}},
        {"the progress of an evaluation", "val acc 3/10: 0.5", {}},
        {"no share", "loss: 3 / 4", {{"loss", 3}}},
        {"a date", "date: 2024 / 05 / 01", {{"date", 2024}}},
        {"two names", "loss / acc: 5 / 7", {{"loss", 5}, {"acc", 7}}},
        {"a deviation", "[0]\ttest-rmse:0.91+0.02", {{"test-rmse", 0.91}}},
        {"averages with blanks",
         "Epoch: [0][    0/   30]\tLoss 6.9e+00 (7.1e+00)\tAcc@1   0.00 (  0.08)",
         {{"Epoch", 0}, {"Loss", 7.1}, {"Acc@1", 0.08}}},
        {"an average at the end",
         "Epoch: [2]  [1500/1504]  loss: 0.6 (0.85)\nAveraged stats: loss: 0.7 (0.86)",
         {{"loss", 0.86}}},
    });
}

TEST(OutputLines, OfTablesWithGapsGroupsAndLoggers) {
    const std::string skorch =
        "  epoch    train_loss    valid_loss    cp     dur\n"
        "-------  ------------  ------------  ----  ------\n";
    expect_all({
        {"skorch",
         skorch + "      4        0.4700        0.6800        0.0321",
         {{"epoch", 4}, {"train_loss", 0.47}, {"valid_loss", 0.68}, {"dur", 0.0321}}},
        {"a cell below no name", skorch + "      4     0.4700     0.6800", {}},
        {"pandas", "   epoch  val_loss\n0      1      0.91", {{"epoch", 1}, {"val_loss", 0.91}}},
        {"a time in CSV", "time,epoch,val_loss\n2024-01-01 10:00:01,1,0.91", {{"epoch", 1}, {"val_loss", 0.91}}},
        {"fastai 1",
         "epoch  train_loss  valid_loss\n1      0.54      0.26    (00:57)",
         {{"epoch", 1}, {"train_loss", 0.54}, {"valid_loss", 0.26}}},
        {"YOLOv5",
         "Epoch   GPU_mem  val_loss    top1_acc\n 1/5     1.47G    0.974       0.828: 100% 148/148 [00:38<00:00]",
         {{"val_loss", 0.974}, {"top1_acc", 0.828}}},
        {"groups",
         "        |   train   |    val    |\n epoch  |  loss  |  loss  |\n   1    |  1.21 | 0.91 |",
         {{"epoch", 1}, {"train_loss", 1.21}, {"val_loss", 0.91}}},
        {"phases alone",
         "          train     val\nloss      1.21     0.91",
         {{"train_loss", 1.21}, {"val_loss", 0.91}}},
        {"AllenNLP",
         "2019-02-01 01:29:07,229 - INFO - allennlp.training.trainer -                   Training |  Validation\n"
         "2019-02-01 01:29:07,230 - INFO - allennlp.training.trainer - loss          |     1.331  |     0.670",
         {{"Training_loss", 1.331}, {"Validation_loss", 0.67}}},
    });
}

TEST(OutputLines, ACountThatTellsResultsApartIsNoSample) {
    for (const char* line : {"accuracy with 3 neighbors: 0.9", "Accuracy for the 1 class: 80",
                             "Loss for the first 10 epochs: 0.5", "accuracy on the 3 fold: 0.8"})
        for (const auto& [name, number] : last_of(line)) EXPECT_TRUE(name != "accuracy" && name != "loss") << line;
}

TEST(OutputLines, RowsKeepTheirMeaningWhereWordsFollow) {
    EXPECT_TRUE(last_of("epoch loss time\n1 0.5 3\n100 200 processed").empty());  // the last column has numbers
    EXPECT_EQ(text(last_of("epoch;val_loss;n\n1;1,234;7")), text({{"epoch", 1}, {"n", 7}}))
        << "a comma of thousands or a decimal one";
    EXPECT_EQ(text(last_of("epoch;val_loss;n\n1;0,234;7")), text({{"epoch", 1}, {"n", 7}, {"val_loss", 0.234}}));
    EXPECT_EQ(text(last_of("metrics[val]: acc=0.8")), text({{"val_acc", 0.8}}));
}

TEST(OutputLines, OfASampleAreOfTheNameBeforeIt) {
    expect_all({
        {"CIFAR tutorial", "Accuracy of the network on the 10000 test images: 54 %", {{"test_Accuracy", 54}}},
        {"training data", "Accuracy of the model on the 50000 train images: 60 %", {{"train_Accuracy", 60}}},
        {"a phase in front", "Test Accuracy of the model on the 10000 test images: 97.1 %", {{"Test_Accuracy", 97.1}}},
        {"episodes",
         "Mean reward over the last 100 episodes: 12.5, epsilon: 0.1",
         {{"Mean_reward", 12.5}, {"epsilon", 0.1}}},
        {"a counter", "Loss after 100 iterations: 0.5", {{"Loss", 0.5}}},
        {"no metric before it", "Time of the last 100 steps: 12.5", {{"steps", 12.5}}},
        {"a metric behind it", "Accuracy on 5 classes f1: 0.5", {{"classes_f1", 0.5}}},
        {"no separator", "Accuracy on 5 classes 0.5", {}},
        {"no whole number", "Accuracy at 0.5 overlap: 0.25", {{"overlap", 0.25}}},
    });
}

TEST(OutputLines, OfOtherOrdersAndSignsAreRead) {
    expect_all({
        {"AutoGluon", "\t0.84\t = Validation score   (accuracy)", {{"Validation_score", 0.84}}},
        {"AutoGluon's errors",
         "\t-3.5\t = Validation score   (-root_mean_squared_error)",
         {{"Validation_score", -3.5}}},
        {"a legend", "0 = negative class", {}},
        {"a time", "0.54 = Training runtime", {}},
        {"a leader", "Accuracy ............ 0.91", {{"Accuracy", 0.91}}},
        {"a leader without blanks", "Accuracy............0.91", {{"Accuracy", 0.91}}},
        {"a leader and a colon", "val loss........: 0.91", {{"val_loss", 0.91}}},
        {"a leader to a word", "Loading ........ done, loss: 0.5", {{"loss", 0.5}}},
        {"scikit-learn",
         "[CV 1/3] END ...................C=1, kernel=rbf;, score=0.913 total time=   0.0s",
         {{"C", 1}, {"score", 0.913}}},
        {"an index", "AUC[val]: 0.8, loss[train]=0.5", {{"val_AUC", 0.8}, {"train_loss", 0.5}}},
        {"an index that is no phase", "loss[0]: 0.8", {}},
        {"a share and its percentage", "acc = 910/1000 = 91.0%", {{"acc", 91}}},
        {"COCO",
         " Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.340",
         {{"AP@0.50:0.95", 0.34}}},
        {"COCO, an area",
         " Average Precision  (AP) @[ IoU=0.50:0.95 | area= small | maxDets=100 ] = 0.152",
         {{"AP@0.50:0.95_small", 0.152}}},
        {"COCO, a recall",
         " Average Recall     (AR) @[ IoU=0.50:0.95 | area=   all | maxDets= 10 ] = 0.463",
         {{"AR@0.50:0.95_max10", 0.463}}},
    });
}

TEST(OutputLines, OfTablesWithTypesRemarksVectorsAndHeadersOfTwoLines) {
    expect_all({
        {"polars",
         "| epoch | val_loss |\n| ---   | ---      |\n| i64   | f64      |\n|=======|\n| 1     | 0.5      |",
         {{"epoch", 1}, {"val_loss", 0.5}}},
        {"semicolons", "epoch;train_loss;val_loss\n1;0.6;0.5", {{"epoch", 1}, {"train_loss", 0.6}, {"val_loss", 0.5}}},
        {"semicolons and decimal commas",
         "epoch;train_loss;val_loss\n1;0,6;0,5",
         {{"epoch", 1}, {"train_loss", 0.6}, {"val_loss", 0.5}}},
        {"a remark",
         "  iter     ELBO   delta_ELBO   notes\n   200   -0.053        0.822\n   300   -0.072        0.633   MAY BE "
         "DIVERGING",
         {{"iter", 300}, {"ELBO", -0.072}, {"delta_ELBO", 0.633}}},
        {"names of rows at their ends", "  TP Rate   Precision   Class\n  0.98      0.94        setosa", {}},
        {"vectors of one number",
         "Step   Train loss    Test loss     Test metric\n1000   [8.5e-01]    [1.5e-01]    []",
         {{"Step", 1000}, {"Train_loss", 0.85}, {"Test_loss", 0.15}}},
        {"vectors of several",
         "Step   Train loss    Test loss     Test metric\n1000   [8.5e-01, 1e-1]    [1.5e-01, 2e-1]    [1.25]",
         {{"Step", 1000}, {"Test_metric", 1.25}}},
        {"evolution",
         "gen\tnevals\tavg \tmin\tmax\n1  \t12    \t4.5\t2  \t7  ",
         {{"gen", 1}, {"nevals", 12}, {"avg", 4.5}, {"min", 2}, {"max", 7}}},
        {"MATLAB",
         "|  Epoch  |  Time Elapsed  |  Mini-batch  |  Validation  |\n|         |   (hh:mm:ss)   |   Accuracy   |   "
         "Accuracy   |\n|=========|\n|       1 |       00:00:03 |       10.5% |       12.0% |",
         {{"Epoch", 1}, {"Mini-batch_Accuracy", 10.5}, {"Validation_Accuracy", 12}}},
        {"classes that are numbers",
         "              precision    recall  f1-score   support\n\n           0       0.92      0.90      0.91        "
         "50",
         {{"class_0_precision", 0.92}, {"class_0_recall", 0.9}, {"class_0_f1-score", 0.91}, {"class_0_support", 50}}},
        {"all classes",
         "              precision    recall  f1-score   support\n\n           0       0.92      0.90      0.91        "
         "50\n"
         "   macro avg       0.91      0.91      0.90       100",
         {{"macro_avg_precision", 0.91},
          {"macro_avg_recall", 0.91},
          {"macro_avg_f1-score", 0.9},
          {"macro_avg_support", 100}}},
    });
}

TEST(OutputLines, OfEvaluationsWithSeveralTasksAndPhasesAreToldApart) {
    const std::string mean = " Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.34";
    const std::string detectron =
        "[05/01 12:00:00 d2.evaluation.coco_evaluation]: Evaluation results for segm: \n"
        "|   AP   |  AP50  |\n|:------:|:------:|\n| 34.900 | 55.800 |";
    expect_all({
        {"COCO, boxes", "IoU metric: bbox\n" + mean, {{"AP@0.50:0.95", 0.34}}},
        {"COCO, masks", "IoU metric: bbox\n" + mean + "\nIoU metric: segm\n" + mean, {{"segm_AP@0.50:0.95", 0.34}}},
        {"COCO, an area without objects",
         " Average Precision  (AP) @[ IoU=0.50:0.95 | area= small | maxDets=100 ] = -1.000",
         {}},
        {"Detectron2, masks", detectron, {{"segm_AP", 34.9}, {"segm_AP50", 55.8}}},
        {"scikit-learn, several scores",
         "[CV 1/3] END ..C=1; acc: (train=0.920, test=0.910) f1: (train=0.9, test=0.85) total time=   0.0s",
         {{"C", 1}, {"train_acc", 0.92}, {"test_acc", 0.91}, {"train_f1", 0.9}, {"test_f1", 0.85}}},
        {"scikit-learn, training data as well",
         "[CV 1/3] END ....C=1, kernel=rbf;, score=(train=0.920, test=0.910) total time=   0.0s",
         {{"C", 1}, {"train_score", 0.92}, {"test_score", 0.91}}},
        {"Julia's named tuples",
         "Epoch: 1   Train: (loss = 0.4f0, acc = 90.1)   Test: (loss = 0.5f0, acc = 88.1)",
         {{"Epoch", 1}, {"Train_loss", 0.4}, {"Train_acc", 90.1}, {"Test_loss", 0.5}, {"Test_acc", 88.1}}},
        {"H2O", "** Reported on validation data. **\n\nMSE: 0.15\nAUC: 0.81", {{"validation_AUC", 0.81}}},
        {"H2O, folds",
         "** Reported on train data. **\nAUC: 0.95\n** Reported on cross-validation data. **\nAUC: 0.81",
         {{"AUC", 0.81}}},
        {"Weka, training data",
         "=== Error on training data ===\n\nRoot mean squared error                  0.108 ",
         {{"training_Root_mean_squared_error", 0.108}}},
        {"Weka",
         "=== Error on training data ===\n\n=== Stratified cross-validation ===\n\n"
         "Root mean squared error                  0.1586",
         {{"Root_mean_squared_error", 0.1586}}},
    });
}

TEST(OutputLines, OfTablesWithListsNamesOfMetricsAndCellsWithoutAValue) {
    expect_all({
        {"a list", "epoch, loss, acc\n[1, 0.5, 0.8]", {{"epoch", 1}, {"loss", 0.5}, {"acc", 0.8}}},
        {"a tuple below a list",
         "epoch,loss,acc\n[1, 0.5, 0.8]\n(2, 0.4, 0.9)",
         {{"epoch", 2}, {"loss", 0.4}, {"acc", 0.9}}},
        {"a list of another length", "epoch, loss, acc\n[1, 0.5]", {}},
        {"a list below no table", "loss at (1, 2)\n[1, 0.5, 0.8]", {}},
        {"tidymodels",
         "  .metric  .estimator .estimate\n  <chr>    <chr>          <dbl>\n1 accuracy multiclass     0.91\n"
         "2 roc_auc  hand_till      0.98",
         {{"roc_auc", 0.98}}},
        {"Trainer",
         "| Epoch | Training Loss | Validation Loss |\n|---|---|---|\n| 1 | No log | 0.41 |",
         {{"Epoch", 1}, {"Validation_Loss", 0.41}}},
        {"a column of texts", "epoch,val_loss,best\n1,0.5,True\n2,0.4,False", {{"epoch", 2}, {"val_loss", 0.4}}},
        {"words in a column of numbers", "epoch,val_loss,acc\n1,0.5,0.8\n2,3,done", {}},
        {"words below a header",
         "epoch loss acc\n1 0.5 0.8\nnew best loss\n2 0.4 0.9",
         {{"epoch", 2}, {"loss", 0.4}, {"acc", 0.9}}},
        {"another header",
         "epoch loss acc\n1 0.5 0.8\nclass recall f1\n2 0.4 0.9",
         {{"class", 2}, {"recall", 0.4}, {"f1", 0.9}}},
    });
    expect_all({{"prose with a semicolon", "We report loss; lower is better\n0.9; 2", {}},
                {"a legend", "1 = exit error", {}}});
}

TEST(OutputLines, ArgumentsThatDotsLeadToAreNone) {
    const std::vector<std::string> lines{
        "------------------------ arguments ------------------------", "  fp16 ................................. False",
        "  loss_scale ........................... 1.0", "-------------------- end of arguments ---------------------",
        "loss_scale ..... 2.0"};
    EXPECT_EQ(read_in_turn(lines), std::vector<std::string>{"loss_scale=2.00"});
}

TEST(OutputLines, OfUtf16AreRead) {
    std::string wide;
    for (const char c : std::string("val_loss: 0.91")) wide += {c, '\0'};
    expect_all({{"UTF-16", wide, {{"val_loss", 0.91}}}});
}

TEST(OutputLines, WithoutMetricsYieldNone) {
    for (const char* line : {"2024-05-01 12:00:00,123 INFO starting",
                             "[2024-05-01T12:00:00Z] ready",
                             "12:30:05 done",
                             "version: 1.2.3",
                             "torch==2.1.0+cu118",
                             "Epoch 1: 12%",
                             "Epoch 1:  12%|#2        | 5/40 [00:01<00:03, 30.21it/s]",
                             " 50%|#####     | 5/10 [00:01<00:01,  4.99it/s]",
                             "Training: 12%|#2        | 5/40 [00:01<00:03, 30.21it/s]",
                             "ETA: 1:02:03",
                             "took 3s",
                             "time: 12.5s",
                             "checkpoints/epoch=3-val_loss=0.25.ckpt",
                             "saved to /tmp/run/val_loss=0.25.pt",
                             "Saved best_acc=0.93.pth",
                             "listening on 127.0.0.1:8080",
                             "http://localhost:8080/x?a=1",
                             "device cuda:0",
                             "train.py:33",
                             "done: 3/10",
                             "batch 3/10",
                             "shape: (3, 224, 224)",
                             "torch.Size([3, 4])",
                             "x: [1, 2]",
                             "GPU memory: 1234MiB / 8192MiB",
                             "memory 1.5GiB",
                             "size: 1,234",
                             "Loaded 60000 samples in 3 files",
                             "Train on 60000 samples, validate on 10000 samples",
                             "Validation loss decreased (0.6 --> 0.5).  Saving model ...",
                             "val_loss: 0.6 -> 0.5",
                             "EarlyStopping counter: 3 out of 7 patience 7 rounds left",
                             "a == 1",
                             "loss >= 0.5",
                             "--lr=x",
                             "--lr=0.1 --epochs 10",
                             "python train.py --lr 0.1 --momentum=0.9",
                             "Namespace(lr=x)",
                             "=5",
                             "id=0x10",
                             "[1] 0.25",
                             "Epoch 1/10",
                             "----------",
                             "",
                             "   ",
                             ":",
                             "=",
                             "\x01\x02",
                             "\xff\xfe",
                             "{broken: ",
                             "{",
                             "|",
                             "||||",
                             "| --- |"}) {
        const Expected found = last_of(line);
        EXPECT_TRUE(found.empty() || std::string(line).starts_with("EarlyStopping")) << line << ": " << text(found);
    }
}

TEST(OutputLines, NameTheirEpoch) {
    for (const auto& [line, epoch] :
         std::vector<std::pair<std::string, double>>{{"Epoch 3/10", 3},
                                                     {"Epoch [3/10], loss: 0.5", 3},
                                                     {"Epoch 3 / 10 loss 0.5", 3},
                                                     {"Epoch: 3 / 10 loss 0.5", 3},
                                                     {"epoch=3 / 10 loss=0.5", 3},
                                                     {"Epoch: [3][10/50]\tLoss 0.5", 3},
                                                     {"epoch=3 loss=0.5", 3},
                                                     {"{\"epoch\": 3, \"loss\": 1}", 3},
                                                     {"{'loss': 1, 'epoch': 3.0}", 3},
                                                     {"Epoch 3: 12%", 3},
                                                     {"epoch 3 val_loss: 0.5 (best 0.4 at epoch 2)", 3},
                                                     {"loss=0.5 epoch=3", 3}}) {
        Reading reading;
        (*make_output_reader({}))->read(line, reading);
        EXPECT_EQ(reading.epoch, epoch) << line;
    }
    Reading reading;
    (*make_output_reader({}))->read("val_loss: 0.5 (best: 0.4, epoch: 2)", reading);
    EXPECT_FALSE(reading.epoch) << "another epoch's";
}

TEST(OutputLines, ANumberWithACommaThatMayBeOfThousandsIsNotReadAndToldWithItsName) {
    Reading reading;
    (*make_output_reader({}))->read("step 1 | val_loss: 1,234", reading);
    EXPECT_EQ(reading.find("val_loss"), nullptr);
    EXPECT_EQ(reading.ambiguous, "1,234");
    EXPECT_EQ(reading.name_of_ambiguous, "val_loss");
}

TEST(OutputLines, TakeBoundedTimeWhateverTheyHold) {
    for (const char* part :
         {"{",         "{a:",   "{'a':{",  "(",  "a(",  "[",      "|",    "a|", "a,",   "a ",           "a=1 ",
          "a: ",       "1/2 ",  "tensor(", "\"", "'s ", "-> 1 ",  "@1:2", "1,", "val ", "\xe2\x94\x82", "a / ",
          "acc on 1 ", "a....", "a....1 ", "a;", "[1,", "mAP[val"}) {
        std::string line;
        while (line.size() < max_text_line) line += part;
        const auto reader = *make_output_reader({});
        for (int i = 0; i < 2; ++i) {  // the second one meets what the reader keeps of the first
            Reading reading;
            reader->read(line, reading);
            EXPECT_LE(reading.metrics.size(), max_line_metrics);
        }
    }
}

TEST(Ranks, OfOtherProcessesAreLabels) {
    for (const auto& [first, second] : {std::pair{"[rank0]: ", "[rank1]: "},
                                        {"[default0]:", "[default1]:"},
                                        {"[1,0]<stdout>:", "[1,1]<stdout>:"},
                                        {"[0]<stdout>:", "[1]<stdout>:"},
                                        {"[Rank 0] ", "[Rank 1] "},
                                        {"[rank: 0] ", "[rank: 1] "},
                                        {"[GPU0] ", "[GPU1] "},
                                        {"Rank 0: ", "Rank 1: "}})
        EXPECT_EQ(read_in_turn({first + std::string("epoch 1 loss 0.25"), second + std::string("epoch 1 loss 0.75"),
                                second + std::string("{'epoch': 2, 'loss': 0.5}")}),
                  (std::vector<std::string>{"epoch=1.00", "loss=0.25", "rank1_loss=0.75", "rank1_loss=0.50"}))
            << first;
    EXPECT_EQ(read_in_turn({"[1] loss 0.5", "[3] loss 0.25"}), (std::vector<std::string>{"loss=0.50", "loss=0.25"}));
    EXPECT_EQ(read_in_turn({"rank=1 loss=0.5 lr=0.1", "Rank 1: 0.5", "Rank 1 accuracy: 0.75"}),
              (std::vector<std::string>{"rank1_loss=0.50", "Rank=1.00", "accuracy=0.75", "Rank=1.00"}));
}

}  // namespace
}  // namespace hpo::script
