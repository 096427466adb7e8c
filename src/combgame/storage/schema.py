"""The tables of a database of studies, and their version."""

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

# A change of the tables is a new number, and a step in `UPGRADES`. Numbers 1 and 2 were those of
# development versions, whose files are refused.
SCHEMA = 3
UPGRADES: dict[int, tuple[str, ...]] = {}  # from a version to the next: the statements
metadata = MetaData()
schema = Table("combgame_schema", metadata, Column("version", Integer, primary_key=True))


studies = Table(
    "combgame_studies",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(200), nullable=False, unique=True),
)


events = Table(
    "combgame_events",
    metadata,
    Column("study", ForeignKey(studies.c.id, ondelete="CASCADE"), primary_key=True),
    Column(
        "seq", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False
    ),
    Column("kind", String(20), nullable=False),
    Column("timestamp", Float, nullable=False),
    Column("round", Integer),
    Column("client", Text),
    Column("reason", Text),
    Column("data", Text, nullable=False),
    Column("version", String(50), nullable=False),
    Column("seal", String(16), nullable=False),
    Index("combgame_events_by_round", "study", "round"),
    sqlite_with_rowid=False,
)


snapshots = Table(
    "combgame_snapshots",
    metadata,
    Column("study", ForeignKey(studies.c.id, ondelete="CASCADE"), primary_key=True),
    Column("seq", Integer, nullable=False),
    Column("sources", String(64), nullable=False),
    Column("checksum", String(64), nullable=False),
    Column("body", LargeBinary, nullable=False),
)


# What a service keeps beside the studies. It makes these tables when it starts, so a file that was
# never served has none of them.
beside = MetaData()
_studies = Table("combgame_studies", beside, Column("id", Integer, primary_key=True))


requests = Table(
    "combgame_requests",
    beside,
    Column("study", ForeignKey(_studies.c.id, ondelete="CASCADE"), primary_key=True),
    Column("key", String(200), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("at", Float, nullable=False),
    Column("answer", Text, nullable=False),
)


tokens = Table(
    "combgame_tokens",
    beside,
    Column("id", Integer, primary_key=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("role", String(20), nullable=False),
    Column("hash", String(64), nullable=False, unique=True),
    Column("made", Float, nullable=False),
)


logins = Table(
    "combgame_logins",
    beside,
    Column("hash", String(64), primary_key=True),
    Column("token", ForeignKey(tokens.c.id, ondelete="CASCADE"), nullable=False),
    Column("until", Float, nullable=False),
)
