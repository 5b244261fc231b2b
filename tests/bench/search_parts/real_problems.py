"""Tuning problems with models of scikit-learn on the data that come with it: PROBLEMS maps a name to its space and its loss.

A loss is that of fixed halves or folds with fixed seeds, so that equal parameters have equal losses. Most take below 50 ms.
"""
import functools
import warnings

import numpy as np
from sklearn import datasets, ensemble, linear_model, metrics, neighbors, neural_network, pipeline, preprocessing, svm, tree
from sklearn.decomposition import PCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import KFold, StratifiedKFold

warnings.filterwarnings("ignore")
PROBLEMS = {}


def number(low, high, log=False):
    return {"type": "float", "low": low, "high": high, "log": log}


def whole(low, high, log=False):
    return {"type": "int", "low": low, "high": high, "log": log}


def choice(*choices):
    return {"type": "categorical", "choices": list(choices)}


def when(parameter, *values, of):
    return {**of, "when": {parameter: list(values)}}


def problem(**space):
    def add(function):
        PROBLEMS[function.__name__] = (space, function)
        return function

    return add


def friedman():
    return datasets.make_friedman1(442, n_features=10, noise=1, random_state=0)


# Another set of data of the same kind, for an earlier study of the same model (warm.py).
OTHER = {"digits": "wine", "breast_cancer": "digits", "wine": "breast_cancer", "diabetes": "friedman"}
variant = {"rows": 0, "folds": 1, "other": False}  # seeds of the order of the rows and of the folds


@functools.cache
def data(name, rows, seed):
    inputs, targets = friedman() if name == "friedman" else getattr(datasets, f"load_{name}")(return_X_y=True)
    order = np.random.RandomState(seed).permutation(len(targets))[:rows]
    return inputs[order], targets[order]


def loss(model, name, kind, rows=None, folds=2):
    """kind: error (share of wrong classes), log (log loss), squares (mean square over the variance)."""
    inputs, targets = data(OTHER[name] if variant["other"] else name, rows, variant["rows"])
    parts = (KFold if kind == "squares" else StratifiedKFold)(folds, shuffle=True, random_state=variant["folds"])
    made = []
    for train, test in parts.split(inputs, targets):
        model.fit(inputs[train], targets[train])
        if kind == "log":
            made.append(metrics.log_loss(targets[test], model.predict_proba(inputs[test]), labels=np.unique(targets)))
        elif kind == "error":
            made.append(np.mean(model.predict(inputs[test]) != targets[test]))
        else:
            made.append(np.mean((model.predict(inputs[test]) - targets[test]) ** 2) / np.var(targets))
    return float(min(np.mean(made), 100))


def scaled(model):
    return pipeline.make_pipeline(preprocessing.StandardScaler(), model)


@problem(max_depth=whole(1, 20), min_samples_leaf=whole(1, 20, True), max_features=number(0.02, 1), min_samples_split=whole(2, 20), criterion=choice("gini", "entropy"))
def forest_digits(p):
    return loss(ensemble.RandomForestClassifier(15, random_state=0, **p), "digits", "error", 700)


@problem(max_depth=whole(1, 16), min_samples_leaf=whole(1, 40), max_features=number(0.1, 1), max_samples=number(0.1, 1))
def forest_diabetes(p):
    return loss(ensemble.RandomForestRegressor(15, random_state=0, **p), "diabetes", "squares")


@problem(max_depth=whole(1, 24), min_samples_leaf=whole(1, 30), min_samples_split=whole(2, 40), max_features=number(0.03, 1), class_weight=choice("none", "balanced"))
def extra_trees_cancer(p):
    weight = p.pop("class_weight")
    return loss(ensemble.ExtraTreesClassifier(15, random_state=0, class_weight=None if weight == "none" else weight, **p), "breast_cancer", "log")


@problem(n_estimators=whole(3, 40), max_depth=whole(1, 20), min_samples_leaf=whole(1, 20), bootstrap=choice(True, False))
def extra_trees_diabetes(p):
    return loss(ensemble.ExtraTreesRegressor(random_state=0, **p), "diabetes", "squares")


@problem(max_depth=whole(1, 20), min_samples_leaf=whole(1, 60), min_samples_split=whole(2, 100), max_features=number(0.1, 1), ccp_alpha=number(1e-2, 1e3, True))
def tree_diabetes(p):
    return loss(tree.DecisionTreeRegressor(random_state=0, **p), "diabetes", "squares", folds=4)


@problem(max_depth=whole(1, 30), min_samples_leaf=whole(1, 50), max_leaf_nodes=whole(2, 100, True), criterion=choice("gini", "entropy"), splitter=choice("best", "random"))
def tree_digits(p):
    return loss(tree.DecisionTreeClassifier(random_state=0, **p), "digits", "error", 900)


@problem(learning_rate=number(1e-3, 1, True), n_estimators=whole(5, 60), max_depth=whole(1, 6), subsample=number(0.3, 1), min_samples_leaf=whole(1, 40))
def boosting_diabetes(p):
    return loss(ensemble.GradientBoostingRegressor(random_state=0, **p), "diabetes", "squares")


@problem(learning_rate=number(1e-2, 2, True), n_estimators=whole(5, 30), max_depth=whole(1, 5), max_features=number(0.05, 1), subsample=number(0.2, 1))
def boosting_cancer(p):
    return loss(ensemble.GradientBoostingClassifier(random_state=0, **p), "breast_cancer", "log")


@problem(learning_rate=number(1e-2, 2, True), n_estimators=whole(2, 30), max_depth=whole(1, 8), min_samples_leaf=whole(1, 30), algorithm=choice("SAMME", "SAMME.R"))
def adaboost_digits(p):
    weak = tree.DecisionTreeClassifier(max_depth=p["max_depth"], min_samples_leaf=p["min_samples_leaf"], random_state=0)
    return loss(ensemble.AdaBoostClassifier(weak, n_estimators=p["n_estimators"], learning_rate=p["learning_rate"], algorithm=p["algorithm"], random_state=0), "digits", "error", 300)


@problem(learning_rate=number(1e-3, 2, True), n_estimators=whole(2, 30), max_depth=whole(1, 10), loss=choice("linear", "square", "exponential"))
def adaboost_diabetes(p):
    weak = tree.DecisionTreeRegressor(max_depth=p["max_depth"], random_state=0)
    return loss(ensemble.AdaBoostRegressor(weak, n_estimators=p["n_estimators"], learning_rate=p["learning_rate"], loss=p["loss"], random_state=0), "diabetes", "squares")


@problem(C=number(1e-3, 1e3, True), gamma=number(1e-6, 1, True))
def svm_digits(p):
    return loss(svm.SVC(**p), "digits", "error", 500)


@problem(C=number(1e-3, 1e3, True), kernel=choice("rbf", "poly", "sigmoid"), gamma=number(1e-4, 10, True), degree=when("kernel", "poly", of=whole(2, 5)), coef0=when("kernel", "poly", "sigmoid", of=number(0, 2)))
def svm_cancer(p):
    return loss(scaled(svm.SVC(max_iter=2000, **p)), "breast_cancer", "error", 400)


@problem(C=number(1e-2, 1e4, True), gamma=number(1e-4, 10, True), epsilon=number(1e-1, 100, True))
def svm_diabetes(p):
    return loss(scaled(svm.SVR(max_iter=2000, **p)), "diabetes", "squares")


@problem(width=whole(4, 64, True), alpha=number(1e-6, 10, True), learning_rate_init=number(1e-4, 0.3, True), batch_size=whole(8, 128, True), activation=choice("relu", "tanh", "logistic"))
def network_digits(p):
    p["hidden_layer_sizes"] = (p.pop("width"),)
    return loss(scaled(neural_network.MLPClassifier(max_iter=8, random_state=0, **p)), "digits", "log", 300)


@problem(width=whole(2, 48, True), layers=whole(1, 3), alpha=number(1e-5, 10, True), learning_rate_init=number(1e-3, 0.3, True), beta_1=number(0.5, 0.99))
def network_diabetes(p):
    p["hidden_layer_sizes"] = (p.pop("width"),) * p.pop("layers")
    return loss(scaled(neural_network.MLPRegressor(max_iter=25, batch_size=64, random_state=0, **p)), "diabetes", "squares")


SGD = {"alpha": number(1e-7, 1, True), "eta0": number(1e-4, 10, True), "learning_rate": choice("constant", "invscaling", "adaptive"),
       "power_t": when("learning_rate", "invscaling", of=number(0.05, 1)), "penalty": choice("l2", "l1", "elasticnet"), "l1_ratio": when("penalty", "elasticnet", of=number(0, 1))}


@problem(loss=choice("hinge", "log_loss", "modified_huber"), **SGD)
def sgd_cancer(p):
    return loss(scaled(linear_model.SGDClassifier(max_iter=12, tol=None, random_state=0, **p)), "breast_cancer", "error", 500)


@problem(loss=choice("hinge", "log_loss", "perceptron"), **SGD)
def sgd_wine(p):
    return loss(linear_model.SGDClassifier(max_iter=20, tol=None, random_state=0, **p), "wine", "error", folds=3)


@problem(C=number(1e-4, 1e4, True), penalty=choice("l1", "l2"), intercept_scaling=number(0.01, 100, True), tol=number(1e-4, 1e-1, True))
def logistic_cancer(p):
    return loss(scaled(linear_model.LogisticRegression(solver="liblinear", max_iter=50, random_state=0, **p)), "breast_cancer", "log")


@problem(n_neighbors=whole(1, 40), weights=choice("uniform", "distance"), p=number(1, 5), components=whole(2, 13))
def neighbors_wine(p):
    return loss(pipeline.make_pipeline(preprocessing.StandardScaler(), PCA(p.pop("components")), neighbors.KNeighborsClassifier(**p)), "wine", "error", folds=3)


@problem(n_neighbors=whole(1, 60), weights=choice("uniform", "distance"), components=whole(1, 10), whiten=choice(True, False))
def neighbors_diabetes(p):
    return loss(pipeline.make_pipeline(PCA(p.pop("components"), whiten=p.pop("whiten")), neighbors.KNeighborsRegressor(**p)), "diabetes", "squares")


@problem(alpha=number(1e-4, 10, True), l1_ratio=number(0, 1), degree=whole(1, 2), max_iter=whole(1, 100, True))
def elastic_net_diabetes(p):
    return loss(pipeline.make_pipeline(preprocessing.PolynomialFeatures(p.pop("degree")), preprocessing.StandardScaler(), linear_model.ElasticNet(**p)), "diabetes", "squares")


@problem(alpha=number(1e-4, 100, True), gamma=number(1e-4, 10, True), kernel=choice("rbf", "laplacian", "polynomial"), degree=when("kernel", "polynomial", of=whole(1, 4)))
def kernel_ridge_diabetes(p):
    targets = KernelRidge(**p)
    return loss(scaled(targets), "diabetes", "squares")
