"""Which module of mytorch answers for which module of torch and torchvision.

What is neither here nor in absent.py is not part of torch either, so that importing it fails, as scripts expect that
look for something older or newer (`try: from torch._six import inf`).
"""

from __future__ import annotations

# Torch's modules that have the same name below mytorch.
_SAME = (
    *("_C", "accelerator", "amp", "autograd", "backends", "compiler", "cuda", "cuda.amp"),
    *("distributed", "distributions", "fft", "func"),
    *("hub", "jit", "linalg", "multiprocessing", "profiler", "random", "return_types", "signal", "sparse", "special"),
    *("storage", "version"),
    *("nn", "nn.attention", "nn.functional", "nn.init", "nn.modules", "nn.parallel", "nn.parameter", "nn.utils"),
    *("nn.utils.parametrizations", "nn.utils.parametrize", "nn.utils.prune", "nn.utils.rnn"),
    *(f"nn.modules.{name}" for name in ("activation", "container", "conv", "dropout", "linear", "loss", "module")),
    *(f"nn.modules.{name}" for name in ("normalization", "padding", "pooling", "rnn", "transformer", "utils")),
    *("optim", "optim.lr_scheduler", "optim.optimizer", "optim.swa_utils", "optim.adam", "optim.sgd"),
    *("utils", "utils.checkpoint", "utils.data", "utils.data.dataset", "utils.data.sampler", "utils.data.distributed"),
    *("utils.benchmark", "utils.dlpack", "utils.tensorboard"),
    *("signal", "signal.windows"),
)

_BACKENDS = ("cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum")
_OTHER = {
    "torch": "mytorch",
    "torch._dynamo": "mytorch.compiler",
    "torch.autograd.functional": "mytorch.autograd_functional",
    "torch.autograd.function": "mytorch.function",
    "torch.autograd.grad_mode": "mytorch.gradmode",
    "torch.autograd.profiler": "mytorch.profiler",
    "torch.autograd.variable": "mytorch.autograd",
    **{f"torch.backends.{name}": f"mytorch.backends.{name}" for name in _BACKENDS},
    "torch.distributions.constraints": "mytorch.distributions.constraints",
    "torch.distributions.kl": "mytorch.distributions.kl",
    "torch.distributions.transforms": "mytorch.distributions.transforms",
    "torch.distributions.utils": "mytorch.distributions.utils",
    "torch._tensor": "mytorch.legacy",
    "torch.functional": "mytorch",
    "torch.mps": "mytorch.accelerator",
    "torch.nn.modules.batchnorm": "mytorch.nn.modules.normalization",
    "torch.nn.modules.instancenorm": "mytorch.nn.modules.normalization",
    "torch.nn.parallel.data_parallel": "mytorch.nn.parallel",
    "torch.nn.parallel.distributed": "mytorch.nn.parallel",
    "torch.nn.utils.stateless": "mytorch.func",
    "torch.nn.utils.clip_grad": "mytorch.nn.utils.clip_grad",
    "torch.optim.adamw": "mytorch.optim.adam",
    "torch.serialization": "mytorch.serialization",
    "torch.testing": "mytorch.testing",
    "torch.torch_version": "mytorch.version",
    "torch.types": "mytorch.types",
    "torch.utils._pytree": "mytorch.utils.pytree",
    "torch.utils.hooks": "mytorch.nn.modules.module",
    "torch.utils.data.dataloader": "mytorch.utils.data.loader",
    "torch.utils.data._utils": "mytorch.utils.data",
    "torch.utils.data._utils.collate": "mytorch.utils.data.collate",
    "torch.utils.tensorboard.writer": "mytorch.utils.tensorboard",
    "torch.xpu": "mytorch.accelerator",
    "torchvision": "mytorch.vision",
    "torchvision.datasets": "mytorch.datasets",
    "torchvision.datasets.folder": "mytorch.image_folder",
    "torchvision.datasets.mnist": "mytorch.datasets",
    "torchvision.datasets.vision": "mytorch.image_folder",
    "torchvision.transforms.transforms": "mytorch.transforms",
    "torchvision.models": "mytorch.vision.models",
    "torchvision.models.resnet": "mytorch.vision.models.resnet",
    "torchvision.models.vgg": "mytorch.vision.models.vgg",
    "torchvision.transforms": "mytorch.transforms",
    "torchvision.transforms.functional": "mytorch.transforms.functional",
    "torchvision.transforms.v2": "mytorch.transforms",
    "torchvision.transforms.v2.functional": "mytorch.transforms.functional",
    "torchvision.utils": "mytorch.vision.utils",
}
# Files of torch's that scripts name (torch.optim.rmsprop, torch.distributions.laplace). Where mytorch has no file of
# the same name, the package itself answers, which has all public names.
FILES = {
    "torch.accelerator": "memory",
    "torch.amp": "autocast_mode grad_scaler",
    "torch.autograd": "anomaly_mode gradcheck",
    "torch.cuda": "memory random streams",
    "torch.cuda.amp": "autocast_mode common grad_scaler",
    "torch.distributions": """bernoulli beta binomial categorical cauchy chi2 constraint_registry constraints
        continuous_bernoulli dirichlet distribution exp_family exponential fishersnedecor gamma generalized_pareto
        geometric gumbel half_cauchy half_normal independent inverse_gamma kl kumaraswamy laplace lkj_cholesky
        log_normal logistic_normal lowrank_multivariate_normal mixture_same_family multinomial multivariate_normal
        negative_binomial normal one_hot_categorical pareto poisson relaxed_bernoulli relaxed_categorical studentT
        transformed_distribution transforms uniform utils von_mises weibull wishart""",
    "torch.nn.modules": """activation adaptive batchnorm channelshuffle container conv distance dropout flatten fold
        instancenorm lazy linear loss module normalization padding pixelshuffle pooling rnn sparse
        transformer upsampling utils""",
    "torch.nn.utils": """clip_grad convert_parameters init parametrizations parametrize prune rnn spectral_norm
        weight_norm""",
    "torch.optim": """adadelta adagrad adam adamax adamw asgd lbfgs lr_scheduler nadam optimizer radam rmsprop rprop sgd
        sparse_adam swa_utils""",
    "torch.profiler": "profiler",
    "torch.signal.windows": "windows",
    "torch.utils.data": "dataloader dataset distributed sampler",
    "torch.utils.tensorboard": "summary",
    "torchvision.datasets": "cifar fakedata folder mnist vision",
    "torchvision.models": "alexnet mobilenet mobilenetv2 resnet squeezenet vgg",
    "torchvision.transforms": "autoaugment",
}
TORCH = {f"torch.{name}": f"mytorch.{name}" for name in _SAME} | _OTHER
TORCH |= {
    full: TORCH[package]
    for package, names in FILES.items()
    for full in (f"{package}.{name}" for name in names.split())
    if full not in TORCH
}
