"""Collections of sets of arms, one per file."""

from .arms import Arms
from .base import Geometry, StructureBase
from .listed import Listed
from .oracle import Oracle
from .subsets import Subsets

__all__ = ["Arms", "Geometry", "Listed", "Oracle", "StructureBase", "Subsets"]
