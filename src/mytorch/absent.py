"""Parts of torch that scripts import and may never use: importing them works, and using one raises an error."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NoReturn

from .dtypes import unsupported

# Modules without a file of their own, by the package they are in. What lies below them (torch.fx.passes) is absent too.
_BELOW = {
    "torch": """
        _VF __config__ __future__ _appdirs _awaits _classes _compile _custom_op _custom_ops _decomp _dispatch
        _environment _export _functorch _guards _higher_order_ops _inductor _jit_internal _lazy _library
        _linalg_utils _lobpcg _logging _lowrank _meta_registrations _native _numpy _opaque_base _ops _prims
        _prims_common _python_dispatcher _refs _size_docs _sources _storage_docs _streambase _strobelight
        _subclasses _tensor_docs _tensor_iterator _tensor_str _thread_safe_fork _torch_docs _utils
        _utils_internal _vendor _vmap_internals _weights_only_unpickler ao contrib cpu export futures fx
        library masked monitor mtia nativert nested numa onnx overrides package quantization quasirandom""",
    "torch._dynamo": "config",
    "torch.accelerator": "graphs",
    "torch.autograd": "forward_ad graph profiler_legacy profiler_util",
    "torch.backends": "cpu cusparselt kleidiai mha miopen nnpack python_native quantized xeon xnnpack",
    "torch.backends.cudnn": "rnn",
    "torch.compiler": "config",
    "torch.cuda": "comm gds graphs green_contexts jiterator nccl nvtx profiler sparse tunable",
    "torch.distributed": """
        algorithms argparse_util autograd c10d_logger checkpoint collective_utils config constants debug
        device_mesh distributed_c10d elastic flight_recorder fsdp launch launcher logging_handlers nn optim
        pipelining remote_device rendezvous rpc run tensor utils""",
    "torch.jit": "annotations frontend generate_bytecode mobile quantized supported_ops unsupported_tensor_ops",
    "torch.mps": "event profiler",
    "torch.multiprocessing": "pool queue reductions spawn",
    "torch.nn": "backends common_types cpp grad intrinsic qat quantizable quantized",
    "torch.nn.attention": "bias experimental flex_attention varlen",
    "torch.nn.modules": "linear_cross_entropy linear_cross_entropy_options",
    "torch.nn.parallel": "comm parallel_apply replicate scatter_gather",
    "torch.nn.utils": "fusion memory_format",
    "torch.profiler": "itt python_tracer",
    "torch.sparse": "semi_structured",
    "torch.testing": "_internal",
    "torch.utils": """
        backcompat backend_registration bottleneck bundled_inputs collect_env cpp_backtrace cpp_extension
        debug_log deterministic file_baton flop_counter hipify jit mkldnn mobile_optimizer model_dump
        model_zoo module_tracker serialization show_pickle throughput_benchmark viz weak""",
    "torch.utils.benchmark": "examples op_fuzzers utils",
    "torch.utils.data": "backward_compatibility datapipes graph graph_settings",
    "torch.xpu": "graphs memory random streams",
    "torchvision": """
        _autograd_registrations _internally_replaced_utils _meta_registrations _utils extension io ops
        prototype tv_tensors version""",
    "torchvision.datasets": """
        caltech celeba cityscapes clevr coco country211 dtd eurosat fer2013 fgvc_aircraft flickr flowers102
        food101 gtsrb hmdb51 imagenet imagenette inaturalist kinetics kitti lfw lsun moving_mnist omniglot
        oxford_iiit_pet pcam phototour places365 rendered_sst2 samplers sbd sbu semeion stanford_cars stl10
        sun397 svhn ucf101 usps utils video_utils voc widerface""",
    "torchvision.models": """
        _utils convnext densenet detection efficientnet feature_extraction googlenet inception maxvit mnasnet
        mobilenetv3 optical_flow quantization regnet segmentation shufflenetv2 swin_transformer video
        vision_transformer""",
}
MODULES = frozenset(f"{package}.{name}" for package, names in _BELOW.items() for name in names.split())


class Absent:
    """A name of torch that mytorch does not have: calling it, entering it or making an object of a subclass raises."""

    def __init__(self, name: str):
        self._name = name

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise unsupported(self._name)

    __call__ = __enter__ = __exit__ = __iter__ = __len__ = __getitem__ = _refuse

    def __getattr__(self, name: str) -> Absent:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self._name}.{name}")

    def __mro_entries__(self, bases: tuple) -> tuple:
        """As a base class: the subclass may be defined, as libraries do when they are imported."""
        return (type(self._name.rpartition(".")[2], (), {"__init__": lambda made, *_, **__: self._refuse()}),)

    def __subclasscheck__(self, kind: Any) -> bool:
        return False

    def __instancecheck__(self, value: Any) -> bool:
        return False  # nothing here is of a kind that does not exist

    def __repr__(self) -> str:
        return f"<{self._name}, which mytorch does not have>"


def is_absent(name: str) -> bool:
    parts = name.split(".")
    return any(".".join(parts[:end]) in MODULES for end in range(2, len(parts) + 1))


def module(name: str) -> ModuleType:
    """A stand-in for an absent module: importing it and taking names from it is allowed."""
    made = ModuleType(name, f"{name}: can be imported on mytorch, but not used")
    made.__path__ = []
    made.__getattr__ = names_in(name)  # type: ignore[method-assign]
    return made


def names_in(module_name: str) -> Any:
    """A module's __getattr__ that answers for every public name with an Absent."""

    def __getattr__(name: str) -> Absent:
        if name.startswith("__"):
            raise AttributeError(f"module '{module_name}' has no attribute '{name}'")
        return Absent(f"{module_name}.{name}")

    return __getattr__


def refuse_names(module_name: str) -> Any:
    """A module's __getattr__ that says of every name that mytorch does not have it."""

    def __getattr__(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module '{module_name}' has no attribute '{name}'")
        raise unsupported(f"{module_name}.{name}")

    return __getattr__
