"""Names of before the renaming do not come back, in code or in the documentation.

The tables have the old names that are unambiguous, with the names that stand for them now. Words
that are ordinary identifiers elsewhere are left out: `step`, `level`, `size`, `full`, `next`,
`part`, `range`, `values`, `known`, `seen`, `look`, `Page`, `Place`, `Pool`, ...
"""

import ast
import re

import pytest

from tests.paths import ROOT


def table(text):
    """A dictionary of pairs old:new."""
    return dict(pair.split(":") for pair in text.split())


CODE = ("src", "reproduction", "examples")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]

# of classes, functions, verbs, fields, parameters and locals, wherever they stand
ANYWHERE = table("""
    License:Assumption Informed:FixedAllocation Doubt:Outlier Moment:StudyView Sentence:Message
    Geometry:PolytopeGeometry DrawnRivals:SampledAlternatives RemoteMoment:RemoteStudyView
    Seen:Statistics View:RoundState Found:BatchResult Catalogue:ActionTable
    Mixture:SparseWeights Blocks:BatchEstimator Mould:KernelTemplate Costs:TransportationCost
    Weigher:SetEvidence Rivals:UnionBound Ensemble:GibbsDistribution Bonus:ExplorationBonus
    Game:ProblemKernel Judge:StoppingKernel Fees:Penalty Spreads:VarianceBound
    Pairs:PairEvidence SetWeigher:SetEvidenceKernel Units:ScaleSource
    Deviations:ConfidenceSequence Players:GameOracles Question:ProblemLike
    Rests:ProofRequirements Setup:BoundRule FixedSetup:FixedBoundRule
    GuardedSetup:CheckedBoundRule Seating:LearnerContext Every:AllActionWeights
    Exchange:Neighbourhood Board:AlternatingCycleWorkspace Trail:DetourWorkspace
    Flips:FlipWorkspace Bracketed:BracketingStructure FullTracking:CTrackingAllActions
    OneSeat:SingleLearner Ledger:RegretRecorder NoLedger:NoRegretRecorder Coins:BernoulliCS
    Students:UnknownVarianceCS Alone:IndependentOracles OneSigma:SharedSigmaCS
    DrawnSearch:SampledSearch Surface:Renderer Margin:LeadInterval Noise:NoiseCheck
    Squares:VarianceComponents Desk:StudyPool Shelf:StudyRegistry People:Authenticator
    Limits:ServerSettings Refusal:ErrorResponse Begun:StudyForm Understood:ParsedResults
    Marks:NumberFormat Sheet:ParsedTable Questions:TemplateOptions Driver:Coordinator
    Contest:Benchmark Absent:Excluded KnownInstance:PublishedInstance Tally:CheckReport
    Pupil:LearnerHarness Numbering:ArmPermutation OnCard:CudaSimulation Sealed:ChainedEvent
    SameFile:FileIdentity SqliteFile:SqliteDatabase Keeper:BackgroundWorker Turns:TimedRLock
    Behind:NeedsHistory Queries:StudyReader Warmed:CompileReport Finding:Claim Several:ListBlock
    LazyLibrary:DeferredLibrary CAPPED:TRUNCATED WAITING:NOT_STOPPED answer_part:answer_kernel
    at_deltas:with_deltas catalogue:table charging:penalised check_impartial:check_symmetric
    check_numbered:check_permuted check_seal:verify_hash claimed:claimed_assumptions
    confront:evidence_against_set deciding:relevant_arms difference_bound:max_difference_bound
    enlarge_catalogue:enlarge_action_table even_rows:restore_rows expects:planned_rounds
    feed:update fill_catalogue:fill_action_table foresee:expected_growth
    foreseen:projected_evidence gaining:n_gaining_differences gauge:update_pairs
    head_of:last_hash impartial:symmetric items_of:check_list iterate:__iter__
    judge:stopping_kernel lazily:deferred_codegen leader_rate:leader_accuracy
    leads_right:leader_correct leaves_of:iter_leaves lessons:reward_sequences level_sd:batch_sd
    levelled:block_effect_stopping licensed:valid_assumptions licenses:assumptions
    lonely:single_value_note make_catalogue:make_action_table make_mixture:make_sparse_weights
    maximised:as_maximisation min_pulls:min_replicates mirrored:reflected mood_of:status_class
    mould:make_template needs_extra:missing_extra on_simplex:enumerates_actions
    own_numbers:draw_permutation parting:tie_breaking_gradient per_answer:learner_per_answer
    plain_text:check_text plugged:estimated_variance prints_of:fingerprints relabel:shuffle_arms
    said_by:error_from seat:learner seating:context size_bound:n_sets_bound
    take_turns:schedule_block teach:register_kernels teach_methods:register_namedtuple_methods
    ties:on_tie toll:edge_costs unboxed:to_python_scalar unnamed:without_labels
    versus:evidence_against
""")
# of classes and their methods, fields and parameters; locals of these names are nobody's concern
OF_OBJECTS = table("""
    appraise:evaluate_rivals blur:quadratic_variance doubts:outliers ease:exploration_delay
    ensemble:gibbs explore:exploration feasible:projected_mean kappa:sharpness numbered:permuted
    on_asked:on_ask on_certified:on_certify on_told:on_tell outgrown:n_cpu_fallback
    supposed:simulation_sigma weakest:least_evidence
""")
OLD = {**ANYWHERE, **OF_OBJECTS}
KERNEL = re.compile(r"[A-Z]\w*Part")  # classes that compute are called ...Kernel

# (file, name): why it may stand there
EXCEPTIONS = {
    ("docs/codes.md", "numbered"): "an English word in messages",
    ("src/combgame/io/models.py", "Limits"): "a pydantic model of this module's own",
    ("src/combgame/lab/history.py", "on_asked"): "handles events of the kind `asked`",
    ("src/combgame/lab/history.py", "on_certified"): "handles events of the kind `certified`",
    ("src/combgame/lab/history.py", "on_told"): "handles events of the kind `told`",
    (
        "src/combgame/structures/_nearest/paths.py",
        "outgrown",
    ): "marks a run that needs longer arrays",
}


def names(tree):
    """The identifiers of a module with their lines; local: only those that are plain variables."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id, node.lineno, True
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno, True
        elif isinstance(node, ast.Attribute):
            yield node.attr, node.lineno, False
        elif isinstance(node, ast.keyword) and node.arg:
            yield node.arg, node.value.lineno, False
        elif isinstance(node, ast.alias):
            yield node.asname or node.name.rpartition(".")[2], node.lineno, True
        elif isinstance(node, ast.ClassDef):
            yield node.name, node.lineno, False
            for one in node.body:  # methods and fields
                if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield one.name, one.lineno, False
                elif isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                    yield one.target.id, one.lineno, False
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.lineno, True


def old_in_code(text):
    """The old names in a module, with the lines in which they stand."""
    if not ANY.search(text):  # to parse it takes a hundred times as long
        return
    for name, line, local in names(ast.parse(text)):
        if name in ANYWHERE or (name in OF_OBJECTS and not local) or KERNEL.fullmatch(name):
            yield name, line


ANY = re.compile(rf"\b(?:{'|'.join(OLD)}|{KERNEL.pattern})\b")
FENCE = re.compile(r"^```.*?^```", re.S | re.M)
TICKS = re.compile(r"``+ (.*?) ``+|`([^`\n]+)`")
# an option, or an identifier that is no piece of a path, a link or a word with hyphens
TOKEN = re.compile(r"--[a-z][\w-]*|(?<![\w/.#-])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?![\w/-]|\.\w)")


def old_in_page(text):
    """The old names in the code of a page: its blocks, and what has backticks."""
    blocks = [re.sub(r"#.*", "", one) for one in FENCE.findall(text)]
    for code in [*blocks, *(a or b for a, b in TICKS.findall(FENCE.sub("", text)))]:
        for token in TOKEN.findall(code):
            for name in token.lstrip("-").replace("-", "_").split("."):
                if name in OLD or KERNEL.fullmatch(name):
                    yield name


@pytest.mark.parametrize("folder", CODE)
def test_no_old_name_is_in_the_code(folder):
    found = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        where = path.relative_to(ROOT).as_posix()
        for name, line in old_in_code(path.read_text()):
            if (where, name) not in EXCEPTIONS:
                found.append(f"{where}:{line}: {name}, now {OLD.get(name, '...Kernel')}")
    assert not found, "\n".join(found)


def test_no_old_name_is_in_the_code_of_the_documentation():
    found = []
    for path in PAGES:
        where = path.relative_to(ROOT).as_posix()
        for name in sorted(set(old_in_page(path.read_text()))):
            if (where, name) not in EXCEPTIONS:
                found.append(f"{where}: {name}, now {OLD.get(name, '...Kernel')}")
    assert not found, "\n".join(found)


def test_every_exception_is_needed():
    for where, name in EXCEPTIONS:
        text = (ROOT / where).read_text()
        found = (
            {one for one, _ in old_in_code(text)}
            if where.endswith(".py")
            else set(old_in_page(text))
        )
        assert name in found, (where, name)


def test_an_old_name_is_found():
    code = "class SlipPart: blur: int\ndef f(seat, blur): return game.catalogue(ties=1), blur"
    found = [name for name, _ in old_in_code(code)]
    assert sorted(found) == ["SlipPart", "blur", "catalogue", "seat", "ties"]
    page = (
        "`study.min_pulls`, `combgame study create --min-pulls 2`, `level-sd-without-level`, ties"
    )
    assert sorted(old_in_page(page)) == ["min_pulls", "min_pulls"]
    assert list(old_in_page("```python\nproblem.maximised  # judge\n```")) == ["maximised"]
