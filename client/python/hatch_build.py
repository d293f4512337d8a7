"""Makes what the package carries besides its code: the descriptors of the API and, on request, the server."""

import os
import pathlib
import shutil
import stat
import subprocess
import sys
import sysconfig

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Path of a mercer-server that the wheel is to carry; it then is for this kind of machine alone.
_BUNDLE = "MERCER_BUNDLE_SERVER"


class CustomBuildHook(BuildHookInterface):
    """Runs before every build."""

    def initialize(self, version, build_data):
        """Writes the files, and says what kind of wheel they make."""
        root = pathlib.Path(self.root)
        make_descriptors(root)
        server = root / "src/mercer/_bin/mercer-server"
        server.unlink(missing_ok=True)
        if self.target_name == "wheel" and os.environ.get(_BUNDLE):
            server.parent.mkdir(exist_ok=True)
            shutil.copyfile(os.environ[_BUNDLE], server)
            server.chmod(server.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{platform}"

    def finalize(self, version, build_data, artifact_path):
        """Takes the server away again: the next wheel may be for any machine."""
        (pathlib.Path(self.root) / "src/mercer/_bin/mercer-server").unlink(missing_ok=True)


def make_descriptors(root):
    """Writes ``_proto/api.binpb`` from the protos of the repository; a source package brings it along."""
    output = root / "src/mercer/_proto/api.binpb"
    protos = root.parents[1] / "proto"
    if not (protos / "mercer/v1").is_dir():
        if not output.exists():
            raise RuntimeError(f"there are neither {protos}/mercer/v1 nor {output}")
        return
    files = sorted(
        str(path.relative_to(protos)) for folder in ("google", "mercer") for path in (protos / folder).rglob("*.proto")
    )
    arguments = [f"-I{protos}", "--include_imports", f"--descriptor_set_out={output}", *files]
    subprocess.run([*protoc(), *arguments], check=True)


def protoc():
    """The compiler of this Python, else that of the system."""
    try:
        import grpc_tools.protoc  # noqa: F401
    except ImportError:
        return ["protoc"]
    return [sys.executable, "-m", "grpc_tools.protoc"]


if __name__ == "__main__":
    make_descriptors(pathlib.Path(__file__).resolve().parent)
