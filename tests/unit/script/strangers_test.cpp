// Whole outputs as programs of other people print them: the steps that the objective has in each, and what is told
// where results of several models, data or settings cannot be one.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "orchestrator/script/syntax/steps.hpp"

namespace hpo::script {
namespace {

struct Output {
    const char* program;
    std::string objective;
    std::string text;
    std::vector<double> values;
    std::string told{};  ///< a part of the warning; empty: there is none
};

void expect_read(const std::vector<Output>& outputs) {
    for (const Output& one : outputs) {
        StepReader reader(*make_output_reader({}), {.objective = one.objective});
        reader.feed(one.text);
        reader.finish();
        std::vector<double> values;
        while (const auto step = reader.take()) values.push_back(step->metrics.at(one.objective));
        std::string warning;
        for (std::string text; !(text = reader.warning()).empty();) warning += text;
        EXPECT_EQ(values, one.values) << one.program << ": " << warning;
        EXPECT_EQ(warning.empty(), one.told.empty()) << one.program << ": " << warning;
        EXPECT_THAT(warning, ::testing::HasSubstr(one.told)) << one.program;
    }
}

TEST(Strangers, ResultsBelowHeadingsOfSeveralModelsOrDataAreTold) {
    expect_read({
        {"framed headings",
         "accuracy",
         "=== SVC ===\naccuracy: 0.75\n=== RandomForest ===\naccuracy: 0.5\n",
         {0.75, 0.5},
         "several models, data or settings ('SVC' and 'RandomForest')"},
        {"underlined headings",
         "accuracy",
         "SVC\n---\naccuracy: 0.75\nf1: 0.5\n\nRandomForest\n------------\naccuracy: 0.5\nf1: 0.25\n",
         {0.75, 0.5},
         "'SVC' and 'RandomForest'"},
        {"names above their results", "loss", "Teacher\nloss 0.25\nStudent\nloss 0.5\n", {0.25, 0.5}, "'Student'"},
        {"headings with colons",
         "rmse",
         "Linear Regression:\n  rmse: 3.5\n  r2: 0.5\nRandom Forest:\n  rmse: 2.5\n  r2: 0.75\n",
         {3.5, 2.5},
         "'Linear Regression' and 'Random Forest'"},
        {"Markdown", "mse", "# Adam\nmse 0.5\n# SGD\nmse 0.75\n", {0.5, 0.75}, "'Adam' and 'SGD'"},
        {"fields",
         "accuracy",
         "Dataset: iris\n  accuracy: 0.5\nDataset: wine\n  accuracy: 0.75\n",
         {0.5, 0.75},
         "'wine'"},
        {"epochs of several models",
         "acc",
         "== A ==\nepoch 1 acc 0.5\nepoch 2 acc 0.75\n== B ==\nepoch 1 acc 0.25\nepoch 2 acc 0.5\n",
         {0.5, 0.75, 0.25, 0.5},
         "'A' and 'B'"},
        {"seeds", "accuracy", "Seed: 0\naccuracy: 0.5\nSeed: 1\naccuracy: 0.75\n", {0.5, 0.75}, "several seeds"},
        {"seeds in fields", "accuracy", "seed=0 accuracy=0.5\nseed=1 accuracy=0.75\n", {0.5, 0.75}, "several seeds"},
        {"OGB",
         "Final_Test",
         "Run 01:\n  Final Train: 79.5\n   Final Test: 71.5\nRun 02:\n  Final Train: 78.5\n   Final Test: 70.5\n",
         {71.5, 70.5},
         "several runs"},
        {"thresholds", "f1", "threshold 0.25 f1 0.5\nthreshold 0.5 f1 0.75\n", {0.5, 0.75}, "several thresholds"},
    });
}

TEST(Strangers, ResultsOfSeveralProcessesFilesOrFittedModelsAreTold) {
    expect_read({
        {"Ray",
         "acc",
         "(pid=12) {'acc': 0.5, 'epoch': 1}\n(pid=13) {'acc': 0.75, 'epoch': 2}\n",
         {0.5, 0.75},
         "several processes"},
        {"one process", "acc", "(f pid=12) {'acc': 0.5}\n(f pid=12) {'acc': 0.75}\n", {0.5, 0.75}},
        {"files of decoded texts",
         "wer",
         "INFO:root:out/exp/mono/14.txt: wer 28.5%\nINFO:root:out/exp/tri1/17.txt: wer 26.5%\n",
         {28.5, 26.5},
         "out/exp/tri1/17.txt"},
        {"sources of a logger", "wer", "src/a/train.py: wer 28.5\nsrc/a/train.py: wer 26.5\n", {28.5, 26.5}},
        {"models that were fitted",
         "Score",
         "Fitting with Logistic Regression took 126.5 ms.\n Score: 0.5\nFitting with QDA took 25.5 ms.\n Score: 0.75\n",
         {0.5, 0.75},
         "'Logistic Regression' and 'QDA'"},
    });
}

TEST(Strangers, StructuresOfRHaveANumberBehindItsType) {
    expect_read({
        {"one run",
         "eval_loss",
         "$ run_dir   : chr \"runs/1\"\n$ eval_loss : num 0.0625\n$ epochs : int 30\n",
         {0.0625}},
        {"a history", "loss", " $ loss : num  0.5 0.25 NA ...\n", {}, "no number that can be read"},
    });
}

TEST(Strangers, ResultsOfCountedOrPrintedSettingsAreTold) {
    expect_read({
        {"neighbours", "accuracy", "k=1: accuracy = 0.5\nk=3: accuracy = 0.75\n", {0.5, 0.75}, "'k 1' and 'k 3'"},
        {"horizons", "rmse", "horizon 1: rmse 0.5\nhorizon 2: rmse 0.75\n", {0.5, 0.75}, "'horizon 2'"},
        {"depths", "f1", "max_depth=3, f1=0.5\nmax_depth=5, f1=0.75\n", {0.5, 0.75}, "'max_depth 5'"},
        {"fractions", "acc", "sigma=0.1 acc=0.5\nsigma=0.2 acc=0.75\n", {0.5, 0.75}, "'sigma 0.2'"},
        {"splits", "auc", "Split 1 auc: 0.5\nSplit 2 auc: 0.75\n", {0.5, 0.75}, "'split 2'"},
        {"headings",
         "auc",
         "*** Experiment 1 ***\nauc 0.5\n*** Experiment 2 ***\nauc 0.75\n",
         {0.5, 0.75},
         "'experiment 2'"},
        {"patients", "auc", "Patient chb01\nauc: 0.5\nPatient chb02\nauc: 0.75\n", {0.5, 0.75}, "'Patient chb02'"},
        {"objects above", "score", "{'C': 1}\nscore: 0.5\n{'C': 10}\nscore: 0.75\n", {0.5, 0.75}, "{'C': 10}"},
        {"objects behind", "score", "score: 0.5 with {'C': 1}\nscore: 0.75 with {'C': 10}\n", {0.5, 0.75}, "{'C': 10}"},
        {"sections of JSON",
         "acc",
         "{\n  \"svc\": {\n    \"acc\": 0.5\n  },\n  \"rf\": {\n    \"acc\": 0.75\n  }\n}\n",
         {0.5, 0.75},
         "'svc' and 'rf'"},
        {"words behind", "acc", "acc: 0.5 on clean\nacc: 0.75 on noisy\n", {0.5, 0.75}, "'on noisy'"},
        {"a column of models",
         "loss",
         "epoch,model,loss\n1,a,0.5\n2,a,0.25\n1,b,0.75\n2,b,0.5\n",
         {0.5, 0.25, 0.75, 0.5},
         "'a ' and 'b '"},
    });
}

TEST(Strangers, SettingsTrialsAndTrainingsBetweenResultsAreTold) {
    expect_read({
        {"a setting above", "acc", "lr = 0.5\nacc: 0.5\nlr = 0.25\nacc: 0.75\n", {0.5, 0.75}, "'lr 0.5' and 'lr 0.25'"},
        {"settings in a sentence",
         "f1",
         "Testing n_estimators=100, max_depth=3\nf1: 0.5\nTesting n_estimators=200, max_depth=3\nf1: 0.75\n",
         {0.5, 0.75},
         "n_estimators 200"},
        {"Hydra", "acc", "[HYDRA] #0 : lr=0.5\nacc: 0.5\n[HYDRA] #1 : lr=0.25\nacc: 0.75\n", {0.5, 0.75}, "lr 0.25"},
        {"a setting in front", "acc", "lr=0.5 acc=0.5\nlr=0.25 acc=0.75\n", {0.5, 0.75}, "'lr 0.25'"},
        {"a call", "acc", "Namespace(lr=0.5)\nacc: 0.5\nNamespace(lr=0.25)\nacc: 0.75\n", {0.5, 0.75}, "Namespace"},
        {"epochs of several settings",
         "acc",
         "width: 8\nepoch 1 acc 0.5\nepoch 2 acc 0.75\nwidth: 16\nepoch 1 acc 0.25\nepoch 2 acc 0.5\n",
         {0.5, 0.75, 0.25, 0.5},
         "'width 16'"},
        {"a tuner of the script", "acc", "Trial 1\nacc: 0.5\nTrial 2\nacc: 0.75\n", {0.5, 0.75}, "several trials"},
        {"Optuna",
         "value",
         "Trial 0 finished with value: 0.5 and parameters: {'x': 1.5}. Best is trial 0 with value: 0.5.\n"
         "Trial 1 finished with value: 0.75 and parameters: {'x': 2.5}. Best is trial 1 with value: 0.75.\n",
         {0.5, 0.75},
         "several trials"},
        {"configurations",
         "acc",
         "Configuration 1/2\nacc: 0.5\nConfiguration 2/2\nacc: 0.75\n",
         {0.5, 0.75},
         "several configurations"},
        {"ranks of scikit-learn's search",
         "score",
         "Model with rank: 1\nscore: 0.75\n\nModel with rank: 2\nscore: 0.5\n",
         {0.75, 0.5},
         "'model with rank: 2'"},
        {"few-shot learning",
         "acc",
         "5-way 1-shot\nacc: 0.5\n5-way 5-shot\nacc: 0.75\n",
         {0.5, 0.75},
         "'5-way 5-shot'"},
        {"Informer, whose second training is longer",
         "mse",
         "Epoch: 1\nEpoch: 2\nmse:0.5, mae:0.25\nEpoch: 1\nEpoch: 2\nEpoch: 3\nmse:0.75, mae:0.5\n",
         {0.5, 0.75},
         "several trainings"},
    });
}

TEST(Strangers, SettingsThatGoAlongWithATrainingAreNotTold) {
    expect_read({
        {"once", "acc", "lr = 0.5\nbatch size = 32\nacc: 0.5\nacc: 0.75\n", {0.5, 0.75}},
        {"a schedule", "loss", "epoch 1\nlr = 0.5\nloss: 0.5\nepoch 2\nlr = 0.25\nloss: 0.25\n", {0.5, 0.25}},
        {"exploration",
         "reward",
         "Episode: 1\nepsilon: 0.5\nreward: 5\nEpisode: 2\nepsilon: 0.25\nreward: 6\n",
         {5, 6}},
        {"steps", "loss", "step 10\nlr 0.5\nloss 0.5\nstep 20\nlr 0.25\nloss 0.25\n", {0.5, 0.25}},
        {"values without a known name", "elbo", "kl: 0.5\nelbo: -2\nkl: 0.25\nelbo: -1\n", {-2, -1}},
        {"federated rounds, each with epochs",
         "acc",
         "Round 1/2\nepoch 1\nepoch 2\nacc: 0.5\nRound 2/2\nepoch 1\nepoch 2\nacc: 0.75\n",
         {0.5, 0.75}},
        {"counters of any name", "reward", "tick 100 reward 5\ntick 200 reward 7\n", {5, 7}},
    });
}

TEST(Strangers, SettingsThatAreShownAreNoMetrics) {
    for (const char* const shown :
         {"Namespace(lr=0.5, batch_size=32, epochs=2)", "{'lr': 0.5, 'batch_size': 32, 'seed': 1, 'epochs': 2}",
          "environ({'HPO_PARAM_LR': '0.5', 'HPO_SEED': '5'})", "HPO_PARAM_LR=0.5"}) {
        StepReader reader(*make_output_reader({}), {.objective = "acc"});
        reader.feed(std::string(shown) + "\nacc: 0.75\n");
        reader.finish();
        EXPECT_EQ(reader.take()->metrics, (Metrics{{"acc", 0.75}})) << shown;
    }
}

TEST(Strangers, ShownNumbersThatTheStudyNeedsAreMetrics) {
    expect_read({{"an objective of a setting's name", "depth", "Tree(depth=3, leaves=8)\n", {3}},
                 {"results beside settings", "elbo", "{'lr': 0.5, 'elbo': -2, 'kl': 1}\n", {-2}}});
}

TEST(Strangers, CountsOfOneTrainingAreNotTold) {
    expect_read({
        {"episodes", "reward", "Episode 1 reward 5\nEpisode 2 reward 7\n", {5, 7}},
        {"the objective itself", "hits", "hits 5\nhits 7\n", {5, 7}},
        {"processes", "loss", "node 1 loss 0.5\nnode 2 loss 0.25\n", {0.5, 0.25}},
        {"iterations of solvers", "loss", "iters 10 loss 0.5\niters 20 loss 0.25\n", {0.5, 0.25}},
        {"settings within epochs", "loss", "epoch 1\nk=1: loss 0.5\nepoch 2\nk=2: loss 0.25\n", {0.5, 0.25}},
        {"dates", "loss", "May 1 12:00:00 loss 0.5\nMay 2 12:00:00 loss 0.25\n", {0.5, 0.25}},
    });
}

TEST(Strangers, ResultsWhoseLinesEndWithTheirModelOrFileAreTold) {
    expect_read({
        {"scikit-learn's voting example",
         "Accuracy",
         "Accuracy: 0.95 (+/- 0.04) [Logistic Regression]\nAccuracy: 0.94 (+/- 0.04) [Random Forest]\n",
         {0.95, 0.94},
         "'Logistic Regression' and 'Random Forest'"},
        {"Kaldi",
         "WER",
         "%WER 12.5 [ 1250 / 10000, 100 ins, 200 del, 950 sub ] exp/tri3/decode/wer_11_0.0\n"
         "%WER 11.5 [ 1150 / 10000, 110 ins, 190 del, 850 sub ] exp/tri4/decode/wer_12_0.0\n",
         {12.5, 11.5},
         "exp/tri4"},
        {"Kaldi, one system",
         "WER",
         "%WER 12.5 [ 1250 / 10000, 100 ins, 200 del, 950 sub ] exp/tri3/decode/wer_11_0.0\n",
         {12.5}},
        {"states", "acc", "acc: 0.5 improved\nacc: 0.25 not improved\nacc: 0.75 new best\n", {0.5, 0.25, 0.75}},
        {"checkpoints", "acc", "acc: 0.5 saved to out/run/a\nacc: 0.75 saved to out/run/b\n", {0.5, 0.75}},
        {"epochs", "acc", "epoch 1 acc 0.5 (a)\nepoch 2 acc 0.75 (b)\n", {0.5, 0.75}},
    });
}

TEST(Strangers, RowsOfATableOfSettingsAreTold) {
    expect_read({
        {"caret",
         "Accuracy",
         "Resampling results across tuning parameters:\n\n  mtry  Accuracy   Kappa\n  2     0.75       0.93 \n"
         "  3     0.5        0.94 \n",
         {0.75, 0.5},
         "'mtry 2' and 'mtry 3'"},
        {"fastai",
         "accuracy",
         "epoch     train_loss  accuracy\n0         0.5         0.75\n1         0.25        0.5\n",
         {0.75, 0.5}},
        {"evolution", "max", "gen\tnevals\tavg\tmax\n0\t10\t0.5\t0.75\n1\t10\t0.5\t1.5\n", {0.75, 1.5}},
        {"losses alone", "loss", "loss  acc\n0.5   0.25\n0.75  0.5\n", {0.5, 0.75}},
    });
}

TEST(Strangers, HeadingsOfOneTrainingAreNotTold) {
    expect_read({
        {"epochs", "rmse", "=== Epoch 1 ===\nrmse: 3.5\n=== Epoch 2 ===\nrmse: 2.5\n", {3.5, 2.5}},
        {"states",
         "loss",
         "Starting\nloss: 0.5\nImproved\nloss: 0.25\nCheckpoint saved\nloss: 0.125\n",
         {0.5, 0.25, 0.125}},
        {"the same heading", "loss", "Model: net\nloss: 0.5\nModel: net\nloss: 0.25\n", {0.5, 0.25}},
        {"stages", "acc", "== Head ==\nepoch 1 acc 0.5\n== All layers ==\nepoch 2 acc 0.75\n", {0.5, 0.75}},
        {"samples of text",
         "val_loss",
         "step 1: val_loss 0.5\nROMEO:\nO\nJULIET:\nstep 2: val_loss 0.25\n",
         {0.5, 0.25}},
        {"Flux",
         "test_acc",
         "[ Info: Dataset MNIST\n┌ Info: epoch 1\n│   train_acc = 0.5\n└   test_acc = 0.75\n┌ Info: epoch 2\n"
         "│   train_acc = 0.75\n└   test_acc = 0.5\n",
         {0.75, 0.5}},
    });
}

TEST(Strangers, RowsHaveTheirMetricInOneColumnAndItsValueInAnother) {
    const std::string mlj =
        "│ measure     │ operation    │ measurement │ 1.96*SE │ per_fold     │\n"
        "│ LogLoss(    │ predict      │ 0.125       │ 0.0721  │ [0.08, 0.16] │\n"
        "│ Accuracy()  │ predict_mode │ 0.75        │ 0.0224  │ [0.5, 0.9]   │\n";
    const std::string tibble =
        "  .metric .estimator  mean     n std_err .config\n  <chr>   <chr>      <dbl> <int>   <dbl> <chr>\n";
    const std::string harness =
        "|Tasks|Filter|Metric|Value |   |Stderr|\n|-----|------|------|-----:|---|-----:|\n|arc  |none  |acc   |0.75  "
        "|±  "
        "|0.0097|\n";
    expect_read({
        {"MLJ", "Accuracy", mlj, {0.75}},
        {"MLJ, a measure with parameters", "LogLoss", mlj, {0.125}},
        {"tidymodels", "rmse", tibble + "1 rmse    standard   3.5     10  0.120  Model1\n", {3.5}},
        {"tidymodels, several",
         "rmse",
         tibble + "1 rmse    standard   3.5     10  0.120  Model1\n2 rmse    standard   3.25     10  0.120  Model2\n",
         {3.5, 3.25},
         "Model2"},
        {"a harness of language models", "acc", harness, {0.75}},
        {"a harness, several tasks", "acc", harness + "|wino |none  |acc   |0.5   |±  |0.0050|\n", {0.75, 0.5}, "wino"},
    });
}

TEST(Strangers, RowsHaveLabelsLeftOfAllNamesAndTheirMeansAreTheMetrics) {
    const std::string surprise =
        "                  Fold 1  Fold 2  Mean    Std     \nRMSE (testset)    0.25    0.75    0.5     0.25    \n"
        "Fit time          6.53    7.11    6.40    1.23    \n";
    const std::string weka =
        "                 TP Rate  FP Rate  Precision  Class\n                 1.000    0.000    0.75       "
        "setosa\n                 0.940    0.030    0.5        virginica\nWeighted Avg.    0.960    0.020    0.625     "
        " "
        "\n";
    const std::string burn =
        "| Split | Metric   | Min.   | Epoch | Max.   | Epoch "
        "|\n|-------|----------|--------|-------|--------|-------|\n"
        "| Train | Accuracy | 93.5   | 1     | 99.5   | 2     |\n| Valid | Accuracy | 98.0   | 1     | 98.5   | 2     "
        "|\n";
    const std::string glmnet =
        "     Lambda Index Measure      SE\nmin 0.07569    34  0.9912 0.08512\n1se 0.15933    26  1.0712 0.08712\n";
    expect_read({
        {"Surprise", "RMSE", surprise, {0.5}},
        {"Surprise, one fold", "RMSE_(testset)_Fold_1", surprise, {0.25}},
        {"Weka", "Weighted_Avg._Precision", weka, {0.625}},
        {"Weka, whose classes are no results", "Precision", weka, {}},
        {"burn", "Valid_Accuracy_Max.", burn, {98.5}},
        {"burn, the least", "Train_Accuracy_Min.", burn, {93.5}},
        {"glmnet", "min_Measure", glmnet, {0.9912}},
        {"glmnet, the second row", "row_1se_Measure", glmnet, {1.0712}},
        {"glmnet, neither of them", "Measure", glmnet, {}},
        {"mlr3, a vector of R", "classif.ce", "classif.ce \n    0.0625 \n", {0.0625}},
        {"a vector with names of any words", "tjur", "  tjur  brier \n0.6250 0.1250 \n", {0.625}},
        {"numbers that are not below the words", "done", "done\n0.5\n", {}},
    });
}

TEST(Strangers, RowsOfDataFramesHaveTextsAmongTheirNumbers) {
    const std::string mlr3 =
        "   nr task_id     learner_id resampling_id iters classif.ce\n"
        "1:  1  mtcars  classif.rpart            cv     5    0.03125\n";
    const std::string leaderboard =
        "                 model  score_val eval_metric  ...  fit_time  can_infer\n"
        "0  WeightedEnsemble_L2      0.875    accuracy  ...      1.25       True\n";
    expect_read({
        {"mlr3", "classif.ce", mlr3, {0.03125}},
        {"mlr3, several learners",
         "classif.ce",
         mlr3 + "2:  2  mtcars classif.ranger            cv     5    0.09375\n",
         {0.03125, 0.09375},
         "classif.ranger"},
        {"a data frame of pandas", "score_val", leaderboard, {0.875}},
        {"a data frame in parts",
         "val_acc",
         "  model  score \\\n0   Net    0.5\n\n  val_acc   kind\n0    0.75   tree\n",
         {0.75}},
        {"texts that are not below the names", "acc", "epoch loss acc\n1 loss is 0.5\n", {}},
    });
}

TEST(Strangers, NamesInBracketsBehindOthersAreTheMetricsInShort) {
    const std::string flair =
        "EPOCH 1 done: loss 2.5\nDEV : loss 1.5 - f1-score (micro avg)  0.75\nTEST : loss 1.5 - f1-score (micro avg)  "
        "0.5\n";
    expect_read({
        {"Spark", "RMSE", "Root Mean Squared Error (RMSE) on test data = 0.25\n", {0.25}},
        {"darknet", "mAP@0.50", " mean average precision (mAP@0.50) = 0.781250, or 78.13 % \n", {0.78125}},
        {"flair", "dev_micro_avg_f1-score", flair, {0.75}},
        {"flair, whose data are not named",
         "micro_avg_f1-score",
         flair,
         {0.75},
         "DEV_micro_avg_f1-score and TEST_micro_avg_f1-score"},
    });
}

TEST(Strangers, MoneyThresholdsBracketsAndDashesAreRead) {
    expect_read({
        {"money", "profit", "profit: $1,234.5\n", {1234.5}},
        {"yen", "price", "price = \u00a51,234.5\n", {1234.5}},
        {"a threshold in the name", "mAP_0.5", "mAP 0.5: 0.625\nmAP 0.75: 0.25\n", {0.625}},
        {"which is no value", "mAP", "mAP 0.5: 0.625\n", {}},
        {"values before colons", "loss", "loss 0.5: 12 s\nloss 0.25: 13 s\n", {0.5, 0.25}},
        {"sacreBLEU's brevity penalty", "BP", "BLEU|nrefs:1|case:mixed = 20.5 53.1/26.1 (BP = 0.5)\n", {0.5}},
        {"nnU-Net", "Pseudo_dice", "12:01:00.123456: Pseudo dice [np.float32(0.8125)]\n", {0.8125}},
        {"segmentation_models",
         "iou_score",
         "valid: 100%|###| 5/5 [00:05<00:00,  1.0s/it, dice_loss - 0.25, iou_score - 0.625]\n",
         {0.625}},
        {"Kaldi",
         "output",
         "LOG Overall log-probability for 'output' is -0.25 per frame, over 10000 frames.\n",
         {-0.25}},
    });
}

TEST(Strangers, ScoresBehindTheirSettingsAndInObjectsThatNameThemAreRead) {
    const std::string json = "{\n \"name\": \"BLEU\",\n \"score\": 20.5,\n \"signature\": \"nrefs:1|case:mixed\"\n}\n";
    expect_read({
        {"sacreBLEU", "BLEU", "BLEU|nrefs:1|case:mixed|version:2.0.0 = 20.5 53.1/26.1 (BP = 1.000)\n", {20.5}},
        {"its older version",
         "BLEU",
         "BLEU+case.mixed+numrefs.1+version.1.5.0 = 20.5 53.1/26.1 (BP = 1.000)\n",
         {20.5}},
        {"its JSON", "BLEU", json, {20.5}},
        {"its JSON by the key", "score", json, {20.5}},
        {"a score without a name", "BLEU", "{\n \"name\": \"BLEU\"\n}\n{\n \"score\": 20.5\n}\n", {}},
    });
}

TEST(Strangers, BarsBelowALineThatAnnouncesTheEvaluationAreOfIt) {
    const std::string paddle =
        "Epoch 1/2\nstep 938/938 [====] - loss: 0.5 - acc: 0.5 - 5ms/step\nEval begin...\nstep 157/157 [====] - loss: "
        "0.25 - acc: 0.75 - 4ms/step\nEval samples: 10000\n";
    expect_read({
        {"Paddle", "Eval_acc", paddle, {0.75}},
        {"an evaluation that prints nothing",
         "eval_loss",
         "iter 10/90 loss 0.5\nEvaluating...\niter 20/90 loss 0.25\n",
         {}},
    });
}

TEST(Strangers, TuplesOfNamesHaveTuplesOfNumbers) {
    expect_read({
        {"Julia",
         "acc",
         "epoch = 1, (loss, acc) = (0.5, 0.75)\nepoch = 2, (loss, acc) = (0.25f0, 0.875)\n",
         {0.75, 0.875}},
        {"a function of two arguments", "f", "f(x, y) = (0.5, 0.75)\n", {}},
        {"fewer numbers", "acc", "(loss, acc) = (0.5)\n", {}},
    });
}

TEST(Strangers, LinesOfUtf16AreReadInAnyAlphabet) {
    const auto wide = [](const std::u16string& text) {
        std::string bytes;
        for (const char16_t c : text) bytes += {static_cast<char>(c & 0xff), static_cast<char>(c >> 8)};
        return bytes;
    };
    expect_read({
        {"Cyrillic",
         "\u0442\u043e\u0447\u043d\u043e\u0441\u0442\u044c",
         wide(u"\ufeff\u0442\u043e\u0447\u043d\u043e\u0441\u0442\u044c: "
              u"0.5\r\n\u0442\u043e\u0447\u043d\u043e\u0441\u0442"
              u"\u044c: 0.75\r\n"),
         {0.5, 0.75}},
        {"ASCII", "acc", wide(u"acc: 0.5\r\nacc: 0.75\r\n"), {0.5, 0.75}},
    });
}

TEST(Strangers, NumbersStandInFrontOfTheirNamesOrInSentencesOrBars) {
    const std::string rest = " rate, 1.25 seconds, 64 images, 10.1 hours left\n";
    expect_read({
        {"darknet",
         "avg_loss",
         " 1: 15.5, 12.5 avg loss, 0.001" + rest + " 2: 11.5, 11.25 avg loss, 0.001" + rest,
         {12.5, 11.25}},
        {"sentences", "Average_accuracy_for_this_phase", "LOG (train) Average accuracy for this phase is 0.5\n", {0.5}},
        {"llama.cpp, with a bar at its end",
         "loss",
         "train_opt_callback: iter=     1 sample=1/27 sched=0.010000 loss=2.500000 dt=00:00:11 eta=00:40:10 |->\n",
         {2.5}},
        {"the description of a bar",
         "loss",
         "loss 0.5:  50%|##### | 1/2 [00:01<00:01, 1.0s/it]\rloss 0.25: 100%|######| 2/2 [00:02<00:00, 1.0s/it]\n",
         {0.25}},
        {"Composer",
         "metrics/eval/Accuracy",
         "[Eval batch=50/50] Eval on eval data:\n\t Eval metrics/eval/Accuracy: 0.75\n",
         {0.75}},
    });
}

TEST(Strangers, TablesWithLessThanAllNamesOrWithCountersOfTheirOwnAreRead) {
    expect_read({
        {"YOLOv5 in a narrow terminal",
         "mAP@.5",
         "               Class      Images           P           R      mAP@.5\n"
         "                 all          58        0.25       0.625       0.375        0.25\n"
         "          blue-queen          58           0       0.375       0.875      0.0625\n",
         {0.375}},
        {"an index without a name", "loss", "     acc   loss\n0   0.50  0.250\n1   0.75  0.125\n", {0.25, 0.125}},
        {"spaCy",
         "NER_F.",
         "Itn.\tN.Loss\tNER P.\tNER R.\tNER F.\n0\t25.125\t81.500\t72.500\t76.500\n1\t15.125\t82.500\t73.500\t77.500\n",
         {76.5, 77.5}},
    });
}

TEST(Strangers, TheBestModelEvaluatedAtTheEndIsNoStep) {
    const std::string header =
        "                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95)\n";
    expect_read({
        {"YOLOv8",
         "mAP50-95",
         header + "                   all        128        929       0.64      0.537      0.605      0.25\n" + header +
             "                   all        128        929       0.65      0.547      0.615      0.5\n"
             "2 epochs completed in 0.003 hours.\nValidating runs/detect/train/weights/best.pt...\n" +
             header + "                   all        128        929       0.65      0.547      0.615      0.5\n",
         {0.25, 0.5}},
        {"LightGBM, which prints some iterations",
         "valid_0_auc",
         "[10]\tvalid_0's auc: 0.5\n[20]\tvalid_0's auc: 0.75\nBest iteration is:\n[18]\tvalid_0's auc: 0.875\n",
         {0.5, 0.75}},
        {"a final evaluation that differs by rounding",
         "mAP50-95",
         header + "                   all        128        929       0.64      0.537      0.605      0.25\n" + header +
             "                   all        128        929       0.65      0.547      0.615     0.5123\n"
             "Validating runs/detect/train/weights/best.pt...\n" +
             header + "                   all        128        929       0.65      0.547      0.615      0.512\n",
         {0.25, 0.5123}},
        {"a resumed training", "acc", "Loading best.pt\nepoch 3 acc 0.5\nepoch 4 acc 0.75\n", {0.5, 0.75}},
    });
}

TEST(Strangers, ANumberThatMayBeSeveralIsToldWhereTheObjectiveMayBeIt) {
    expect_read({
        {"the objective", "val_loss", "val_loss: 1,234\nval_loss: 0.5\n", {0.5}, "'1,234' is not read"},
        {"the objective under another name", "loss", "train loss: 1,234\n", {}, "'1,234' is not read"},
        {"Marian",
         "cross-entropy",
         "Up. 100 : Sen. 1,000 : Cost 5.5\nUp. 200 : cross-entropy : 50.5 : new best\n",
         {50.5}},
        {"torchtitan", "loss", "step: 1 loss: 0.5 tps: 1,234\nstep: 2 loss: 0.25 tps: 1,334\n", {0.5, 0.25}},
    });
}

TEST(Strangers, FractionsThatBecomePercentagesAreTold) {
    expect_read({
        {"accuracies", "acc", "acc: 0.85\nacc: 86.5\n", {0.85, 86.5}, "from a fraction to a percentage"},
        {"percentages that rise", "acc", "acc: 0.9\nacc: 10.5\nacc: 50.5\n", {0.9, 10.5, 50.5}},
        {"losses", "loss", "loss: 0.5\nloss: 50.5\n", {0.5, 50.5}},
    });
}

TEST(Strangers, ANameOfOtherWordsIsToldOnce) {
    const std::string output = "epoch 1 valid_acc 0.5\nepoch 2 valid_acc 0.75\n";
    expect_read({{"a synonym", "val_accuracy", output, {0.5, 0.75}, "'val_accuracy' is printed as 'valid_acc'"},
                 {"another spelling", "Valid-Acc", output, {0.5, 0.75}}});
}

TEST(Strangers, BarsWhoseRateIsOfEpochsCountEpochs) {
    expect_read({
        {"PyKEEN",
         "loss",
         "Training:   0%|          | 0/2 [00:00<?, ?epoch/s]\rTraining:  50%|#####     | 1/2 [00:01<00:01,  "
         "1.0s/epoch, "
         "loss=1.5]\rTraining: 100%|##########| 2/2 [00:02<00:00,  1.0s/epoch, loss=0.75]\n",
         {1.5, 0.75}},
        {"PyKEEN, values before the next count",
         "loss",
         "Training:   0%|          | 0/2 [00:01<?, ?epoch/s, loss=1.5]\rTraining:  50%|#####     | 1/2 [00:01<00:01,  "
         "1.0s/epoch, loss=1.5]\rTraining:  50%|#####     | 1/2 [00:02<00:00,  1.0s/epoch, loss=0.75]\rTraining: "
         "100%|##########| 2/2 [00:02<00:00,  1.0s/epoch, loss=0.75]\n",
         {1.5, 0.75}},
        {"Keras, which tells the time of an epoch",
         "loss",
         "Epoch 1/2\n32/32 - 2s - loss: 0.5 - 2s/epoch - 60ms/step\nEpoch 2/2\n32/32 - 1s - loss: 0.25 - 1s/epoch\n",
         {0.5, 0.25}},
    });
}

TEST(Strangers, BarsOfTrainingAndTestUnderOneNameAreTold) {
    expect_read({{"CIFAR",
                  "Acc",
                  "Epoch: 0\n [=====>....]  Acc: 30.1% (301/1000)\n [=========>]  Acc: 45.5% (22750/50000)\n"
                  " [=========>]  Acc: 55.5% (5550/10000)\n",
                  {45.5, 55.5},
                  "several lines"}});
}

TEST(Strangers, SettingsAndTrainingsInFurtherFormsAreTold) {
    expect_read({
        {"counted experiments",
         "acc",
         "Experiment: 1\nacc: 0.5\nExperiment: 2\nacc: 0.75\n",
         {0.5, 0.75},
         "'experiment 2'"},
        {"numbered experiments", "acc", "Experiment #1\nacc: 0.5\nExperiment #2\nacc: 0.75\n", {0.5, 0.75}, "'exp"},
        {"activations", "acc", "Activation: relu\nacc: 0.5\nActivation: tanh\nacc: 0.75\n", {0.5, 0.75}, "'tanh'"},
        {"a field above one that stays",
         "acc",
         "Model: a\nDataset: iris\nacc: 0.5\nModel: b\nDataset: iris\nacc: 0.75\n",
         {0.5, 0.75},
         "'a' and 'b'"},
        {"a setting in two words",
         "acc",
         "noise level 0.1: acc 0.5\nnoise level 0.2: acc 0.75\n",
         {0.5, 0.75},
         "'noise level 0.2'"},
        {"losses of splits", "loss", "split 1 loss 0.5\nsplit 2 loss 0.75\n", {0.5, 0.75}, "'split 2'"},
        {"the size of a sample",
         "test_accuracy",
         "Test accuracy for 10 images per label: 62.5%\nTest accuracy for 20 images per label: 68.5%\n",
         {62.5, 68.5},
         "'10 images' and '20 images'"},
        {"boosting once more",
         "rmse",
         "[100]\tvalid_0's rmse: 2.5\n[200]\tvalid_0's rmse: 2.25\n"
         "[100]\tvalid_0's rmse: 3.5\n[200]\tvalid_0's rmse: 3.25\n",
         {2.5, 2.25, 3.5, 3.25},
         "several trainings"},
    });
}

TEST(Strangers, CountersOfOneTrainingThatBeginAgainAreNotTold) {
    expect_read({
        {"Keras 1, whose callbacks count from 0",
         "val_loss",
         "Epoch 1/3\nEpoch 00000: val_loss improved from inf to 0.75, saving model\n2s - loss: 0.5 - val_loss: 0.75\n"
         "Epoch 2/3\nEpoch 00001: val_loss did not improve\n2s - loss: 0.5 - val_loss: 0.875\n"
         "Epoch 3/3\nEpoch 00002: val_loss improved from 0.75 to 0.5, saving model\n2s - loss: 0.5 - val_loss: 0.5\n",
         {0.75, 0.875, 0.5}},
        {"iterations of each epoch",
         "loss",
         "epoch 1\n[100]\tlr: 0.5\n[200]\tlr: 0.5\nepoch 1 loss 0.5\n"
         "epoch 2\n[100]\tlr: 0.5\n[200]\tlr: 0.5\nepoch 2 loss 0.25\n",
         {0.5, 0.25}},
        {"Megatron, which counts epochs of its data",
         "lm_loss",
         " > total number of epochs: 75\n iteration 1/ 10 | lm loss: 4.5E+00 |\n iteration 2/ 10 | lm loss: 4.25E+00 "
         "|\n",
         {4.5, 4.25}},
        {"rewards of the last episodes",
         "reward",
         "mean reward over the last 10 episodes: 1.5\nmean reward over the last 20 episodes: 2.5\n",
         {}},
    });
}

TEST(Strangers, AFinalValueNearTheLastOneIsNoRoundedCopy) {
    expect_read({{"an evaluation a little better",
                  "top1",
                  "[Eval][Iter: 1/2]top1: 0.95713\n[Eval][Iter: 2/2]top1: 0.95667\n[Eval][Avg]top1: 0.95730\n",
                  {0.95713, 0.95667, 0.95730},
                  "both count as steps"},
                 {"a copy with fewer digits", "acc", "epoch 1 acc 0.95667\nfinal result acc 0.957\n", {0.95667}}});
}

TEST(Strangers, LabelsBeforeBarsAndCountersAreOfTheirLine) {
    const std::string bars =
        "Epoch: 0\ntrain: 100%|####| 46/46 [00:12<00:00,  3.59it/s, dice_loss - 0.25, iou_score - 0.5]\n"
        "valid: 100%|####| 101/101 [00:03<00:00, 32.53it/s, dice_loss - 0.5, iou_score - 0.75]\nEpoch: 1\n"
        "train: 100%|####| 46/46 [00:12<00:00,  3.59it/s, dice_loss - 0.25, iou_score - 0.625]\n"
        "valid: 100%|####| 101/101 [00:03<00:00, 32.53it/s, dice_loss - 0.5, iou_score - 0.875]\n";
    expect_read({
        {"segmentation_models", "valid_iou_score", bars, {0.75, 0.875}},
        {"a counter without blanks",
         "eval_acc",
         "train epoch:0 step:0 loss:2.5 acc:0.25\neval epoch:0 step:0 loss:2.5 acc:0.5\n"
         "train epoch:1 step:9 loss:2.5 acc:0.625\neval epoch:1 step:9 loss:2.5 acc:0.75\n",
         {0.5, 0.75}},
        {"a bar without metrics, which heads nothing",
         "loss",
         "Evaluating: 100%|####| 4/4 [00:01<00:00, 4.0it/s]\nloss: 0.5\nEvaluating: 100%|####| 4/4 [00:01<00:00]\n"
         "loss: 0.25\n",
         {0.5, 0.25}},
        {"a phase joined with a word of its own",
         "valid_acc",
         "Epoch: 1 | MbTrain/Valid ACC: 0.9/0.5\nEpoch: 2 | MbTrain/Valid ACC: 0.95/0.75\n",
         {0.5, 0.75}},
        {"the constant of another model", "loss", "average loss = 0.5\nbest constant's loss = 0.75\n", {}},
    });
}

TEST(Strangers, PairsAndCallsOfPythonAreRead) {
    expect_read({
        {"TensorFlow Federated",
         "loss",
         "Round 0: OrderedDict([('sparse_categorical_accuracy', 0.25), ('loss', 2.5)])\n"
         "Round 1: OrderedDict([('sparse_categorical_accuracy', 0.5), ('loss', 1.5)])\n",
         {2.5, 1.5}},
        {"behind a name",
         "acc",
         "round 1, metrics=OrderedDict([('acc', 0.25), ('n', 4)])\nround 2, metrics=OrderedDict([('acc', 0.5), ('n', "
         "4)])\n",
         {0.25, 0.5}},
        {"a count of the call", "NDCG(k:20)", "NDCG(k=20) = 0.5\nNDCG(k=10) = 0.25\n", {0.5}},
    });
}

TEST(Strangers, TablesWithTextsRowsWithGapsAndHeadersOfTwoLinesAreRead) {
    const std::string header =
        "| Trial name | ID | status  | loc     | iter | reward "
        "|\n|------------+----+---------+---------+------+--------|\n";
    expect_read({
        {"Ray Tune",
         "reward",
         header + "| a | 7d | RUNNING | pid=1 | 1 | 0.5 |\n" + header + "| a | 7d | TERMINATED | pid=1 | 2 | 0.75 |\n",
         {0.5, 0.75}},
        {"Ray Tune, several trials",
         "reward",
         header + "| a | 7d | RUNNING | pid=1 | 1 | 0.5 |\n| b | 7e | RUNNING | pid=2 | 1 | 0.75 |\n",
         {0.5, 0.75},
         "several models, data or settings"},
        {"SNLI, whose first rows have gaps",
         "Dev/Accuracy",
         "  Time Epoch Iteration Progress    (%Epoch)   Loss   Dev/Loss     Accuracy  Dev/Accuracy\n"
         "     3     0         1     1/8584         0% 1.097845               32.8125               \n"
         "    40     0      1000  1000/8584        12% 0.912314   0.881234    60.1252      60.5\n"
         "    70     1      2000  2000/8584        23% 0.812314   0.781234    66.1252      65.5\n",
         {60.5, 65.5}},
        {"Vowpal Wabbit",
         "average_loss",
         "average  since         example        example        current        current  current\n"
         "loss     last          counter         weight          label        predict features\n"
         "1.000000 1.000000            1            1.0         1.0000         0.0000      290\n"
         "0.500000 0.000074            2            2.0         0.0000         0.0086      608\n"
         "average loss = 0.25\n",
         {0.25}},
        {"Vowpal Wabbit, cut off",
         "average_loss",
         "average  since         example        example        current        current  current\n"
         "loss     last          counter         weight          label        predict features\n"
         "1.000000 1.000000            1            1.0         1.0000         0.0000      290\n"
         "0.500000 0.000074            2            2.0         0.0000         0.0086      608\n",
         {0.5}},
    });
}

TEST(Strangers, TabsThatSyslogEscapesSeparateNames) {
    expect_read({
        {"XGBoost on SageMaker",
         "validation-error",
         "[0]#011train-error:0.25#011validation-error:0.5\n[1]#011train-error:0.125#011validation-error:0.25\n",
         {0.5, 0.25}},
        {"a number sign of a name", "issue", "issue #011: open\nissue=2.5\n", {2.5}},
    });
}

TEST(Strangers, WordsAroundANameDoNotHideItsNumber) {
    expect_read({
        {"Julia", "accuracy", "recall(cm) |> r3 = 0.75\naccuracy(y, z) |> r3 = 0.5\n", {0.5}},
        {"a budget in brackets", "accuracy", "default lgbm accuracy = 0.75\nflaml (10 min) accuracy = 0.5\n", {}},
        {"the same under its name", "flaml_accuracy", "flaml (10 min) accuracy = 0.5\n", {0.5}},
        {"a time in brackets", "accuracy", "Trained (5 s) accuracy = 0.5\n", {0.5}},
        {"TensorFlow's last step",
         "loss",
         "loss in step 0 is 0.75\nloss in step 1000 is 0.5\nloss in final step 2000 is 0.25\n",
         {0.75, 0.5, 0.25}},
        {"batches of an epoch", "loss", "1 epoch = 20 batches\nstep 0, loss: 0.5\nstep 1, loss: 0.25\n", {0.5, 0.25}},
        {"a test set", "test_auc", "Test set AUC: 0.5\n", {0.5}, "is printed as 'Test_set_AUC'"},
    });
}

TEST(Strangers, AFinalEvaluationCountsUnlessItRepeatsAValue) {
    const std::string steps = "iter 1: val loss 0.75\niter 2: val loss 0.5\n";
    expect_read({
        {"LitGPT", "val_loss", steps + "Final evaluation | val loss: 0.25\n", {0.75, 0.5, 0.25}, "both count as steps"},
        {"the best again", "val_loss", steps + "Final evaluation | val loss: 0.75\n", {0.75, 0.5}},
        {"of an epoch that has reported",
         "val_loss",
         "Epoch 1 | iter 1 loss 0.9\niter 1: val loss 0.5\nFinal evaluation | val loss: 0.25\n",
         {0.5, 0.25},
         "both count as steps"},
        {"a best one", "val_loss", steps + "Final best model | val loss: 0.25\n", {0.75, 0.5}, "no step"},
    });
}

TEST(Strangers, ALineThatRepeatsAnEpochWithFurtherMetricsIsNoStep) {
    expect_read({
        {"the loss alone and beside another",
         "loss",
         "Epoch [1/2], Loss: 0.5\nEpoch [1/2], Loss: 0.5, Val: 0.75\nEpoch [2/2], Loss: 0.25\n",
         {0.5, 0.25}},
        {"fairseq",
         "loss",
         "| epoch 001:     10 / 100 loss=0.75, ppl=100\n| epoch 001 | loss 0.625 | ppl 90\n"
         "| epoch 002:     10 / 100 loss=0.375, ppl=80\n| epoch 002 | loss 0.5 | ppl 70\n",
         {0.75, 0.625, 0.5},
         "from here on the latter alone count"},
    });
}

TEST(Strangers, ASecondNameIsToldUnlessItHasTheSameValue) {
    expect_read({
        {"TensorFlow's estimators", "average_loss", "{'average_loss': 0.5, 'x': 1}\nAverage-Loss 0.5\n", {0.5}},
        {"another value", "average_loss", "{'average_loss': 0.5}\nAverage-Loss 0.75\n", {0.5}, "several names"},
        {"DJL",
         "accuracy",
         "Training:    100% |####| accuracy: 0.51 loss: 1.39\n"
         "[INFO ] - Epoch 0 finished.\n"
         "[INFO ] - train accuracy: 0.50522, train loss: 1.392299\n"
         "[INFO ] - validate accuracy: 0.5627, validate loss: 1.226838\n",
         {0.51},
         "Training_accuracy and validate_accuracy"},
        {"two names of training data and a better one",
         "acc",
         "Training: 100% |####| acc: 0.25\nTrain: acc: 0.5\nValidate: acc: 0.75\n",
         {0.75},
         "Validate_acc is used"},
    });
}

TEST(Strangers, EpisodesThatBeginAgainAreOfSeveralTrainings) {
    const std::string first = "Episode 100 Avg: 1.5\nEpisode 200 Avg: 2.5\n";
    expect_read({
        {"two trainings", "Avg", first + "Episode 100 Avg: 1.25\n", {1.5, 2.5, 1.25}, "several trainings"},
        {"a resumed one", "Avg", first + "Episode 200 Avg: 2.25\nEpisode 300 Avg: 3.5\n", {1.5, 2.5, 2.25, 3.5}},
    });
}

}  // namespace
}  // namespace hpo::script
