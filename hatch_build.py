"""The build hook: compiles the native library into the wheel where there is a C compiler.

Without one, with one that fails, or with GRAPHC_NATIVE=0 the wheel is pure, and graphc builds the
library at first use or runs on NumPy: installing never fails for want of a compiler.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLACE = "graphc/native"


class NativeLibrary(BuildHookInterface):
    """Adds a file for each variant, and says in the wheel's tag for which machines it is."""

    work: Path | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if os.environ.get("GRAPHC_NATIVE") == "0":
            return
        try:
            files, reason = self._built(beside=version == "editable")
        except OSError as error:
            files, reason = [], str(error)
        if reason:
            self.app.display_warning(f"graphc: {reason}; NumPy runs everything")
        elif version != "editable":
            build_data["force_include"] |= {str(file): f"{PLACE}/{file.name}" for file in files}
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{_platform()}"

    def _built(self, beside: bool) -> tuple[list[Path], str]:
        """All variants, in the package where it is used as it stands; or why there are none."""
        source = Path(self.root, *PLACE.split("/"))
        building = _module(source / "building.py")
        if not beside:
            self.work = Path(tempfile.mkdtemp(prefix="graphc-"))
        files = []
        for variant in building.variants():
            file, reason = next(building.whole(source, variant), None), ""
            if file is None or not beside:
                file, reason = building.build(self.work or source, variant)
            if file is None:
                return [], reason
            files.append(file)
        for old in set(source.glob("engine-*.so")).difference(files) if beside else ():
            old.unlink()  # of other sources
        return files, ""

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if self.work is not None:
            shutil.rmtree(self.work, ignore_errors=True)


def _module(file: Path) -> Any:
    """A module of the package that is not installed yet, by its file."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _platform() -> str:
    """The machines that the library runs on; a Python for two kinds of them builds for its own."""
    named = sysconfig.get_platform().replace("universal2", platform.machine())
    return named.replace("-", "_").replace(".", "_")
