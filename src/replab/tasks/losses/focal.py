"""Cross-entropy that counts easy images less: weighed by (1 - p)², p the probability of the label (1708.02002)"""

from __future__ import annotations

from typing import Any

from replab.tasks.losses import loss, one_hot


@loss
def focal(lib: Any, logits: Any, target: Any) -> Any:
    log_p = lib.nn.functional.log_softmax(logits, 1)  # (B, classes)
    return -(one_hot(lib, target, logits.shape[1]) * (1 - log_p.exp()) ** 2 * log_p).sum(1)
