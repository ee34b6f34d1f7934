"""torch.utils.tensorboard: SummaryWriter writes scalars, histograms, images and text, without TensorBoard installed."""

from __future__ import annotations

import os
import socket
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from mytorch.tensor import Tensor
from mytorch.vision.png import png_bytes
from mytorch.vision.utils import make_grid

from . import events

__all__ = ["SummaryWriter"]


def _array(values: Any) -> np.ndarray:
    return values._array if isinstance(values, Tensor) else np.asarray(values)


class SummaryWriter:
    """Appends to one event file in log_dir, by default runs/<time>_<host>, as torch's."""

    def __init__(
        self,
        log_dir: str | os.PathLike | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ):
        if not log_dir:
            moment = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{moment}_{socket.gethostname()}{comment}")
        self.log_dir = str(log_dir)
        self._suffix = filename_suffix
        self._files: dict[str, Any] = {}
        self._file("")

    def _file(self, below: str) -> Any:
        """The open event file of log_dir, or of a folder below it (one per line of add_scalars)."""
        if below not in self._files:
            folder = Path(self.log_dir, below)
            folder.mkdir(parents=True, exist_ok=True)
            moment = f"{time.time():.0f}".zfill(10)
            name = f"events.out.tfevents.{moment}.{socket.gethostname()}.{os.getpid()}.{len(self._files)}{self._suffix}"
            self._files[below] = (folder / name).open("ab")
            self._files[below].write(events.record(events.event(time.time(), None, events.FILE_VERSION)))
        return self._files[below]

    def _add(self, tag: str, value: bytes, step: Any, wall_time: float | None, below: str = "") -> None:
        moment = time.time() if wall_time is None else wall_time
        message = events.event(moment, None if step is None else int(step), events.summary(tag, value))
        self._file(below).write(events.record(message))

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        self._add(tag, events.scalar(float(scalar_value)), global_step, walltime)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: dict, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Several lines in one chart: one folder each, as TensorBoard wants them."""
        for tag, value in tag_scalar_dict.items():
            below = f"{main_tag.replace('/', '_')}_{tag}"
            self._add(main_tag, events.scalar(float(value)), global_step, walltime, below)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        flat = _array(values).astype(np.float64).reshape(-1)
        if not flat.size:
            raise ValueError("The input has no element.")
        counts, limits = np.histogram(flat, bins=max_bins or 30 if isinstance(bins, str) else bins)
        self._add(tag, events.histogram(flat, limits[1:], counts), global_step, walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        pixels = _array(img_tensor)
        if dataformats not in ("CHW", "HWC", "HW"):
            raise ValueError(f"dataformats must be CHW, HWC or HW, but got {dataformats!r}")
        if dataformats == "CHW":
            pixels = pixels.transpose(1, 2, 0)
        if pixels.dtype != np.uint8:
            pixels = (pixels * 255).clip(0, 255).astype(np.uint8)
        height, width = pixels.shape[:2]
        channels = 1 if pixels.ndim == 2 else pixels.shape[2]
        content = events.image(height, width, channels, png_bytes(np.ascontiguousarray(pixels)))
        self._add(tag, content, global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        images = _array(img_tensor)
        if dataformats == "NHWC":
            images = images.transpose(0, 3, 1, 2)
        self.add_image(tag, make_grid(Tensor(images), padding=0), global_step, walltime)

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None) -> None:
        self._add(f"{tag}/text_summary", events.words(text_string), global_step, walltime)

    def add_hparams(self, hparam_dict: dict, metric_dict: dict, *args: Any, **kwargs: Any) -> None:
        """The settings as a text, the metrics as scalars: TensorBoard's own table of them is not written."""
        rows = "\n".join(f"|{name}|{value}|" for name, value in hparam_dict.items())
        self.add_text("hparams", f"|setting|value|\n|-|-|\n{rows}")
        for name, value in metric_dict.items():
            self.add_scalar(name, value, kwargs.get("global_step"))

    def add_graph(self, *args: Any, **kwargs: Any) -> None:
        """Nothing is written: there is no graph of operations to draw."""

    def add_embedding(self, *args: Any, **kwargs: Any) -> None:
        """Nothing is written."""

    add_audio = add_custom_scalars = add_mesh = add_onnx_graph = add_pr_curve = add_video = add_embedding

    def add_figure(
        self, tag: str, figure: Any, global_step: Any = None, close: bool = True, walltime: float | None = None
    ) -> None:
        """A matplotlib figure as an image."""
        figure.canvas.draw()
        pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3]
        self.add_image(tag, pixels, global_step, walltime, dataformats="HWC")
        if close:
            import matplotlib.pyplot

            matplotlib.pyplot.close(figure)

    def get_logdir(self) -> str:
        return self.log_dir

    def flush(self) -> None:
        for file in self._files.values():
            file.flush()

    def close(self) -> None:
        for file in self._files.values():
            file.close()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.close()
