"""Estimators for scikit-learn, one or two for each learner.

Made by ``tools/generate_estimators.py`` from the descriptions of the server's learners.
A change belongs there.
"""

from mercer.estimators.coordinate_gradients import CoordinateGradients
from mercer.estimators.coordinate_gradients_regression import CoordinateGradientsRegressor
from mercer.estimators.csi import CSIClassifier
from mercer.estimators.csi_regression import CSIRegressor
from mercer.estimators.ikl import IKLClassifier
from mercer.estimators.infinite_features import InfiniteFeaturesClassifier
from mercer.estimators.infinite_features_regression import InfiniteFeaturesRegressor
from mercer.estimators.kernel_ridge import KernelRidgeClassifier
from mercer.estimators.kernel_ridge_regression import KernelRidge
from mercer.estimators.lp_mkl import LpMKLClassifier
from mercer.estimators.lp_mkl_regression import LpMKLRegressor
from mercer.estimators.mixed_norm_mkl import MixedNormMKLClassifier
from mercer.estimators.mixed_norm_mkl_regression import MixedNormMKLRegressor
from mercer.estimators.sparse_multitask_svm import SparseMultiTaskSVM
from mercer.estimators.svm import KernelSVC
from mercer.estimators.svm_regression import KernelSVR
from mercer.estimators.svm_rfe import SVMRFE

__all__ = [
    "CSIClassifier",
    "CSIRegressor",
    "CoordinateGradients",
    "CoordinateGradientsRegressor",
    "IKLClassifier",
    "InfiniteFeaturesClassifier",
    "InfiniteFeaturesRegressor",
    "KernelRidge",
    "KernelRidgeClassifier",
    "KernelSVC",
    "KernelSVR",
    "LpMKLClassifier",
    "LpMKLRegressor",
    "MixedNormMKLClassifier",
    "MixedNormMKLRegressor",
    "SVMRFE",
    "SparseMultiTaskSVM",
]
