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


def test_also_after_a_users_file_was_read_that_does_not_import_it(tmp_path):
    (tmp_path / "plain.py").write_text("x = 1\n")
    code = (
        "from pathlib import Path; from replab.backends.user_file import import_file; import sys;"
        "import_file(Path(sys.argv[1])); from replab.backends.torchvision_cpu import torchvision;"
        "import torchvision as again; assert again is torchvision; print(torchvision.__version__)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "plain.py")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
