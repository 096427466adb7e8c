"""tests/spreadsheets/: tables as Excel, LibreOffice, R and people write them are read to the same
values, or refused with the sentence that stands here.
"""

from pathlib import Path

import pytest

import combgame as cg
from combgame.cli.speech import SHELL
from combgame.errors import CombGameError
from combgame.study.sheet import read_sheet

from .spreadsheets import make

HERE = Path(__file__).parent / "spreadsheets"
NAMES = ("wt", "A12G", "K7R", "É5Q")
PROBLEM = cg.Problem(cg.Subsets(4, 2), cg.Arms(4), cg.Gaussian(100.0), names=NAMES)
VALUES = {1: {0: 0.5, 1: 1250.25}, 2: {2: None, 3: -3.125}}

READ = {  # what is said of how it was read
    "excel-us.csv": "Windows-1252, commas between cells, decimal points, a line per value",
    "excel-us-utf8.csv": "UTF-8, commas between cells, decimal points, a line per value",
    "excel-german.csv": "Windows-1252, semicolons between cells, decimal commas, a line per value",
    "excel-german-utf8.csv": "UTF-8, semicolons between cells, decimal commas, a line per value",
    "excel-unicode.txt": "UTF-16, tabs between cells, decimal commas, a line per value",
    "excel-tabs.txt": "Windows-1252, tabs between cells, decimal points, a line per value",
    "excel-sep-line.csv": "Windows-1252, semicolons between cells, decimal commas, a line per "
    "value",
    "excel-thousands.csv": "Windows-1252, semicolons between cells, decimal commas, a line per "
    "value",
    "excel-french.csv": "UTF-8, semicolons between cells, decimal commas, a line per value",
    "excel-errors.csv": "UTF-8, commas between cells, decimal points, a line per value",
    "libreoffice.csv": "UTF-8, commas between cells, decimal points, a line per value",
    "libreoffice-german.csv": "UTF-8, semicolons between cells, decimal commas, a line per value",
    "libreoffice-quoted-commas.csv": "UTF-8, commas between cells, decimal commas, a line per "
    "value",
    "libreoffice-utf16.csv": "UTF-16, commas between cells, decimal points, a line per value",
    "r-write-csv.csv": "UTF-8, commas between cells, decimal points, a line per value",
    "r-write-csv2.csv": "UTF-8, semicolons between cells, decimal commas, a line per value",
    "r-write-table.tsv": "UTF-8, tabs between cells, decimal points, a line per value",
    "wide.csv": "UTF-8, commas between cells, decimal points, a column per arm",
    "wide-german.csv": "Windows-1252, semicolons between cells, decimal commas, a column per arm",
    "wide.tsv": "UTF-16, tabs between cells, decimal points, a column per arm",
    "n-and-note.csv": "UTF-8, semicolons between cells, decimal commas, a line per value",
    "excel.xlsx": "the page 'Tabelle1' of a workbook, decimal points, a line per value",
    "excel-empty-lines.xlsx": "the page 'Tabelle1' of a workbook, decimal points, a line per value",
    "excel-formulas.xlsx": "the page 'Tabelle1' of a workbook, decimal points, a line per value",
    "excel-errors.xlsx": "the page 'Tabelle1' of a workbook, decimal points, a line per value",
    "excel-texts.xlsx": "the page 'Tabelle1' of a workbook, decimal commas, a line per value",
    "excel-wide.xlsx": "the page 'Tabelle1' of a workbook, decimal points, a column per arm",
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
    "there twice, or --again if it was measured twice."
}


def test_every_file_of_the_folder_is_tested():
    there = {one.name for one in HERE.iterdir() if one.suffix not in (".py", "")}
    assert there == {*READ, *REFUSED, *POINTED_OUT}


@pytest.mark.parametrize("name", READ)
def test_it_is_read_to_the_same_values(name):
    sheet = read_sheet(HERE / name, PROBLEM, "study")
    wanted = VALUES
    if sheet.form.wide:  # what is missing need not be in the round
        wanted = {1: VALUES[1], 2: {3: -3.125}}
    assert sheet.values == wanted and sheet.whole and sheet.repeated is None
    assert str(sheet.form.sentence) == f"Read as {READ[name]}."


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_with_this_sentence(name):
    with pytest.raises(CombGameError) as caught:
        read_sheet(HERE / name, PROBLEM, "study")
    assert caught.value.said(SHELL) == f"{HERE / name}: {REFUSED[name]}"


@pytest.mark.parametrize("name", POINTED_OUT)
def test_it_is_pointed_out(name):
    sheet = read_sheet(HERE / name, PROBLEM, "study")
    assert sheet.repeated.said(SHELL) == POINTED_OUT[name]


@pytest.mark.parametrize("name", {**make.TEXTS, **make.BOOKS})
def test_the_files_are_those_that_make_makes(name):
    made = {**make.TEXTS, **make.BOOKS}[name]
    assert (HERE / name).read_bytes() == made
