"""torchvision imports, also where its C++ library does not."""

import subprocess
import sys


def test_it_imports_once_and_stays_imported():
    code = (
        "from replab.backends.torchvision_cpu import torchvision; import torchvision as again;"
        "assert again is torchvision; import torchvision.transforms, torchvision.models, torchvision.utils;"
        "print(again.models.resnet18().fc.out_features)"
    )
    out = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (out.stdout.strip(), out.returncode) == ("1000", 0), out.stderr
