"""Bytes -> modules: which files there are, what text they hold, how they are named and how imports reach them.

Nothing here runs or imports the code it reads, and no file can stop the others: what goes wrong with one is a
`SourceError`.
"""

from hybridize.source.discovery import DEFAULT_EXCLUDES, discover
from hybridize.source.inputs import Asked, Inputs, read_inputs
from hybridize.source.layout import find_src_roots, package_name
from hybridize.source.model import Cell, CellMap, Discovery, FileRef, SourceError, SourceText
from hybridize.source.names import ImportTable, ModuleInfo, module_name
from hybridize.source.parts import Part, find_parts, outline
from hybridize.source.reading import count_lines, decode_source, encode_source, parse, read_source, split_lines
from hybridize.source.roles import Role, Roles, find_roles, is_test_path
from hybridize.source.suppressions import Suppression, find_suppressions, spread
from hybridize.source.versions import Versions, project_versions

__all__ = [
    "DEFAULT_EXCLUDES",
    "Asked",
    "Cell",
    "CellMap",
    "Discovery",
    "FileRef",
    "ImportTable",
    "Inputs",
    "ModuleInfo",
    "Part",
    "Role",
    "Roles",
    "SourceError",
    "SourceText",
    "Suppression",
    "Versions",
    "count_lines",
    "decode_source",
    "discover",
    "encode_source",
    "find_parts",
    "find_roles",
    "find_src_roots",
    "find_suppressions",
    "is_test_path",
    "module_name",
    "outline",
    "package_name",
    "parse",
    "project_versions",
    "read_inputs",
    "read_source",
    "split_lines",
    "spread",
]
