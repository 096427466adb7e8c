"""tests/assets/spreadsheets/: tables as Excel, LibreOffice, R and people write them are read to the
same values, or refused with the sentence that stands here.
"""

import io
import math
import sys
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import combgame as cg
from combgame.cli._common import SHELL
from combgame.errors import CombGameError
from combgame.lab.exports import read_sheet
from combgame.tables import cells, excel, is_frame, known_column, read_frame, read_table
from combgame.tables.reader import read_bytes
from combgame.tables.text import decoded, detected
from tests.assets.spreadsheets import make
from tests.paths import ASSETS
from tests.said import refused

HERE = ASSETS / "spreadsheets"
NAMES = ("wt", "A12G", "K7R", "É5Q")
PROBLEM = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(100.0), names=NAMES)
VALUES = {1: {0: 0.5, 1: 1250.25}, 2: {2: None, 3: -3.125}}

BOOK = "the page 'Tabelle1' of a workbook"
READ = {  # what is said of how it was read, but for its last words
    "excel-us.csv": "Windows-1252, commas between cells, decimal points",
    "excel-us-utf8.csv": "UTF-8, commas between cells, decimal points",
    "excel-german.csv": "Windows-1252, semicolons between cells, decimal commas",
    "excel-german-utf8.csv": "UTF-8, semicolons between cells, decimal commas",
    "excel-unicode.txt": "UTF-16, tabs between cells, decimal commas",
    "excel-tabs.txt": "Windows-1252, tabs between cells, decimal points",
    "excel-sep-line.csv": "Windows-1252, semicolons between cells, decimal commas",
    "excel-thousands.csv": "Windows-1252, semicolons between cells, decimal commas",
    "excel-french.csv": "UTF-8, semicolons between cells, decimal commas",
    "excel-errors.csv": "UTF-8, commas between cells, decimal points",
    "libreoffice.csv": "UTF-8, commas between cells, decimal points",
    "libreoffice-german.csv": "UTF-8, semicolons between cells, decimal commas",
    "libreoffice-quoted-commas.csv": "UTF-8, commas between cells, decimal commas",
    "libreoffice-utf16.csv": "UTF-16, commas between cells, decimal points",
    "r-write-csv.csv": "UTF-8, commas between cells, decimal points",
    "r-write-csv2.csv": "UTF-8, semicolons between cells, decimal commas",
    "r-write-table.tsv": "UTF-8, tabs between cells, decimal points",
    "wide.csv": "UTF-8, commas between cells, decimal points",
    "wide-german.csv": "Windows-1252, semicolons between cells, decimal commas",
    "wide.tsv": "UTF-16, tabs between cells, decimal points",
    "n-and-note.csv": "UTF-8, semicolons between cells, decimal commas",
    "excel.xlsx": f"{BOOK}, decimal points",
    "excel-empty-lines.xlsx": f"{BOOK}, decimal points",
    "excel-formulas.xlsx": f"{BOOK}, decimal points",
    "excel-errors.xlsx": f"{BOOK}, decimal points",
    "excel-texts.xlsx": f"{BOOK}, decimal commas",
    "excel-wide.xlsx": f"{BOOK}, decimal points",
}
REFUSED = {
    "below-limit.csv": "line 4: value is '<0.1', which says on which side of a limit it lies, not "
    "what it is; give the number that the instrument read, also below its limit: without such "
    "values, or with the limit in their place, the rest would be a selection.",
    "ambiguous.csv": "'1,234' may be 1.234 or 1234, and nothing else in the table says which; say "
    "it with --decimal , or --decimal .",
    "mixed.csv": "'1250.25' has a decimal point, and '0,5' a decimal comma; write all numbers "
    "alike.",
    "decimal-comma-unquoted.csv": "line 2: it has 4 cells, and the first line names 3 columns; "
    "separate cells with semicolons where numbers have decimal commas.",
    "r-write-table.txt": "the first line must name the columns round, arm, value, or instead of "
    'arm and value a column for every arm, not \'round "arm" "value"\'.',
    "percent.csv": "line 2: value = '50%' must be a number, or blank for missing.",
    "broken-formula.csv": "line 4: value is '#DIV/0!', a formula that went wrong; mend it, or "
    "leave the cell blank if the value is missing.",
    "date.csv": "line 3: value = '01. Feb' must be a number, or blank for missing.",
    "old.xls": "it is a workbook of an old kind (.xls), or one with a password; save it as .xlsx "
    "or .csv, without a password.",
    "libreoffice.ods": "it cannot be read (it is packed, but no workbook of Excel: save it as "
    ".xlsx or .csv); give a table of text (.csv, .tsv, .txt) or of Excel (.xlsx).",
    "excel-date.xlsx": "line 3: value is a date or a time (2026-02-01 00:00:00), where a number is "
    "needed: Excel makes dates of numbers such as 1.2 or 3/4; format the column as numbers, and "
    "type the value again.",
    "excel-date-arm.xlsx": "line 3: the arm is a date (2026-02-01 00:00:00): Excel makes dates of "
    "names such as MAR1; format the column as text, and type the name again.",
    "formula-not-computed.xlsx": "the cell C2 has a formula without a value; open it in Excel or "
    "LibreOffice, and save it there.",
}
POINTED_OUT = {
    "twice.csv": "Lines 6, 7 have the same value of arm wt, 0.51237; take out what is "
    "there twice, or --allow-duplicates if it was measured twice."
}


def test_every_file_of_the_folder_is_tested_and_is_the_one_that_make_makes():
    there = {one.name for one in HERE.iterdir() if one.suffix not in (".py", "")}
    assert there == {*READ, *REFUSED, *POINTED_OUT}
    made = {**make.TEXTS, **make.BOOKS}
    assert [name for name in made if (HERE / name).read_bytes() != made[name]] == []


def test_it_is_read_to_the_same_values():
    for name, how in READ.items():
        wide = "wide" in name  # what is missing need not be in the round
        sheet = read_sheet(HERE / name, PROBLEM, "study")
        assert sheet.values == ({1: VALUES[1], 2: {3: -3.125}} if wide else VALUES), name
        assert sheet.whole and sheet.repeated is None and sheet.form.wide == wide, name
        lines = "a column per arm" if wide else "a line per value"
        assert str(sheet.form.sentence) == f"Read as {how}, {lines}.", name


def test_it_is_refused_or_pointed_out_with_this_sentence():
    for name, sentence in REFUSED.items():
        with pytest.raises(CombGameError) as caught:
            read_sheet(HERE / name, PROBLEM, "study")
        assert caught.value.render(SHELL) == f"{HERE / name}: {sentence}"
    for name, sentence in POINTED_OUT.items():
        assert read_sheet(HERE / name, PROBLEM, "study").repeated.render(SHELL) == sentence


# ---- any way of writing the same numbers

NUMBERS = st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 6) + 0.0)
WAYS = [
    (sep, decimal, code)
    for sep in (",", ";", "\t")
    for decimal in ".,"
    for code in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252")
]


def spelt(value, decimal, sep):
    text = repr(value).replace(".", decimal)
    return f'"{text}"' if decimal == sep else text


@given(
    st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=6),
    st.sampled_from(WAYS),
    st.booleans(),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
@settings(max_examples=60)
def test_the_same_numbers_however_they_are_written(tmp_path_factory, rows, way, wide, end):
    sep, decimal, code = way
    if wide:
        head, lines = ["round", *NAMES], [[str(k + 1), *row] for k, row in enumerate(rows)]
    else:
        head = ["round", "arm", "value"]
        lines = [[str(k + 1), n, x] for k, row in enumerate(rows) for n, x in zip(NAMES, row)]  # noqa: B905
    cells = [
        [one if isinstance(one, str) else spelt(one, decimal, sep) for one in line]
        for line in [head, *lines]
    ]
    path = tmp_path_factory.mktemp("tables") / "table.csv"
    path.write_bytes((end.join(sep.join(line) for line in cells) + end).encode(code))
    wanted = {k + 1: dict(enumerate(row)) for k, row in enumerate(rows)}
    sheet = read_sheet(path, PROBLEM, "study", decimal=decimal)
    assert sheet.values == wanted and sheet.form[:3] == ("text", sheet.form.encoding, sep)
    marks = [abs(x) < 1000 or x != round(x, 3) for row in rows for x in row]
    if all(marks):  # nothing that may be thousands
        assert read_sheet(path, PROBLEM, "study").values == wanted


NUMBERS_AS_WRITTEN = [
    (["1,5", "2"], None, [1.5, 2.0]),
    (["1.5", "2"], None, [1.5, 2.0]),
    (["1.234"], None, [1.234]),  # a point is a decimal point unless something speaks against it
    (["1,234"], ",", [1.234]),
    (["1,234"], ".", [1234.0]),
    (["1.234"], ",", [1234.0]),
    (["1,234", "0,5"], None, [1.234, 0.5]),
    (["1,234.5", "1,234"], None, [1234.5, 1234.0]),
    (["1.234,5", "1.234"], None, [1234.5, 1234.0]),
    (["1,234,567", "0.5"], None, [1234567.0, 0.5]),
    (["1 234,5", "1'234,5", "1\u00a0234,5"], None, [1234.5] * 3),
    (["0,234"], None, [0.234]),  # no thousands begin with 0
    (["1,234", "0.5"], None, "ambiguous-number"),
    (["1.234", "0,5"], None, "ambiguous-number"),
    (["0.5", "0,5"], None, "mixed-decimals"),
    (["1,234"], None, "ambiguous-number"),
    (["1e-3", "-2.5E+2", "+.5", "\u22121"], None, [0.001, -250.0, 0.5, -1.0]),
    (["1,5e-3"], None, [0.0015]),
    (["1_000"], None, "must-be"),
    (["0x10"], None, "must-be"),
    ([">5"], None, "censored-value"),
    ([True], None, "must-be"),
    ([5, 0.5], None, [5.0, 0.5]),
]


def test_what_a_number_is():
    for given_, decimal, wanted in NUMBERS_AS_WRITTEN:
        try:
            marks = cells.find_marks(given_, decimal)
            found = [cells.number("value", one, marks) for one in given_]
        except CombGameError as error:
            found = error.code
        assert found == wanted, (given_, decimal)


def test_what_is_missing():
    words = ["", " ", "n.d.", "N.D.", "#N/A", "NA", "n/a", "NaN", "-", "\u2014", None, math.nan]
    assert all(cells.missing(word) for word in words)
    assert not any(cells.missing(word) for word in ["0", 0.0, "<0.1", "#DIV/0!", "inf"])


def test_texts_that_are_none():
    with refused("sheet-unreadable"):
        decoded(b"\x00\x01\x02\x03\x00\x00\x07")
    with refused("sheet-unreadable"):
        decoded(b"\xff\xfe\x00\xd8a")  # half a character
    assert detected("a b c", {"a"}.__contains__) == ","


def test_a_wide_table_names_the_arm_that_is_wrong(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("round;wt;K7R\n1;0,5;<0,1\n")
    with refused("censored-value", line=2, what="K7R", cell="<0,1"):
        read_sheet(path, PROBLEM, "study")
    path.write_text("round,wt,K7R\n1,0,5,\n")  # 0,5 in two cells
    with refused("extra-cells", line=2, cells=4, columns=3):
        read_sheet(path, PROBLEM, "study")


def test_separators_that_are_none():
    for sep in ("ab", "", "1", '"', 5):
        with refused("must-be", name="sep"):
            read_sheet(HERE / "wide.csv", PROBLEM, "study", sep=sep)


# ---- workbooks


def test_a_workbook_that_unpacks_to_too_much_is_not_unpacked(tmp_path, monkeypatch):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/workbook.xml", "")
        packed.writestr("xl/worksheets/sheet1.xml", bytes(2_000_000))
    path = tmp_path / "bomb.xlsx"
    path.write_bytes(out.getvalue())
    assert path.stat().st_size < 5000
    with refused("workbook-too-large", most=1_000_000, what="bytes"):
        read_bytes(path.read_bytes(), known_column(PROBLEM), most=1_000_000)
    monkeypatch.setattr(excel, "CELL", 10**8)
    with refused("workbook-too-large", most=5, what="cells"):
        read_sheet(HERE / "excel.xlsx", PROBLEM, "study")


def test_a_damaged_workbook_is_refused(tmp_path):
    path = tmp_path / "cut.xlsx"
    for cut in (10, 200, 700):
        path.write_bytes((HERE / "excel.xlsx").read_bytes()[:-cut])
        with refused("sheet-unreadable"):
            read_sheet(path, PROBLEM, "study")


def test_names_stay_names_in_a_workbook(tmp_path):
    names = ("=1+1", "MAR1", "007", "1e5")
    problem = cg.Problem(cg.Arms(names), rewards=cg.Gaussian(1.0))
    raw = excel.write_excel(
        ["round", "arm", "value"], [[k, n, 0.5] for k, n in enumerate(names, 1)], "a/b:c"
    )
    path = tmp_path / "names.xlsx"
    path.write_bytes(raw)
    assert read_sheet(path, problem, "").values == {k: {k - 1: 0.5} for k in range(1, 5)}


def test_the_first_page_that_is_shown_and_not_empty(tmp_path):
    import openpyxl

    book = openpyxl.Workbook()
    for title, rows in (
        ("hidden", [["notes"]]),
        ("plate 1", [["arm", "value"], ["wt", 0.5]]),
        ("plate 2", [["arm", "value"], ["wt", 0.7]]),
    ):
        page = book.create_sheet(title)
        for row in rows:
            page.append(row)
    book["hidden"].sheet_state = "hidden"
    path = tmp_path / "pages.xlsx"
    book.save(path)
    sheet = read_sheet(path, PROBLEM, "study", rounds=False)
    assert sheet.values == {0: {0: 0.5}} and sheet.form.page == "plate 1"
    assert not sheet.form.plain  # so that it is said which page it was


def test_frames_of_others():
    class Column(list):
        def to_list(self):
            return list(self)

    class Frame(dict):
        columns, shape = ["arm", "value"], (2, 2)

    frame = Frame(arm=Column(["wt", "K7R"]), value=Column([0.5, None]))
    assert is_frame(frame)
    assert read_table(read_frame(frame), PROBLEM, rounds=False).values == {0: {0: 0.5, 2: None}}


def test_excel_is_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with refused("needs-extra", extra="excel"):
        read_sheet(HERE / "excel.xlsx", PROBLEM, "study")


@pytest.mark.slow
def test_many_lines_are_read_once(tmp_path):
    """Every line is looked at a fixed number of times: replicates are not copied."""
    n = 60_000
    path = tmp_path / "many.csv"
    path.write_text("arm,value\n" + "".join(f"wt,0.{k:05}\n" for k in range(n)))
    values = read_sheet(path, PROBLEM, "study", rounds=False).values
    assert list(values) == [0] and len(values[0][0]) == n
    assert np.isclose(sum(values[0][0]), sum(float(f"0.{k:05}") for k in range(n)))
