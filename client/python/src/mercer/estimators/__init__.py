"""Estimators for scikit-learn, one or two for each learner.

Made by ``tools/generate_estimators.py`` from the descriptions of the server's learners.
A change belongs there.
"""

from mercer.estimators.coordinate_gradients import CoordinateGradients, CoordinateGradientsRegressor
from mercer.estimators.csi import CSIClassifier, CSIRegressor
from mercer.estimators.ikl import IKLClassifier
from mercer.estimators.infinite_features import InfiniteFeaturesClassifier, InfiniteFeaturesRegressor
from mercer.estimators.kernel_ridge import KernelRidge, KernelRidgeClassifier
from mercer.estimators.lp_mkl import LpMKLClassifier, LpMKLRegressor
from mercer.estimators.mixed_norm_mkl import MixedNormMKLClassifier, MixedNormMKLRegressor
from mercer.estimators.sparse_multitask_svm import SparseMultiTaskSVM
from mercer.estimators.svm import KernelSVC, KernelSVR
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
