"""python tests/assets/spreadsheets/make.py writes the files of this folder anew: tables as Excel,
LibreOffice, R and people's hands write them. They are kept, so that they stay what they were.
"""

import io
import zipfile
from datetime import datetime
from pathlib import Path

HERE = Path(__file__).parent
LONG = [("1", "wt", "0.5"), ("1", "A12G", "1250.25"), ("2", "K7R", ""), ("2", "É5Q", "-3.125")]


def long(sep=",", decimal=".", blank="", end="\r\n", quote="", head=("round", "arm", "value")):
    lines = [sep.join(f"{quote}{word}{quote}" for word in head)]
    for round_, arm, value in LONG:
        value = value.replace(".", decimal) or blank
        lines.append(sep.join([round_, f"{quote}{arm}{quote}", value]))
    return end.join(lines) + end


def wide(sep=",", decimal=".", end="\r\n"):
    rows = [["round", "wt", "A12G", "K7R", "É5Q"], ["1", "0.5", "1250.25", "", ""]]
    rows.append(["2", "", "", "n/a", "-3.125"])
    return end.join(sep.join(cell.replace(".", decimal) for cell in row) for row in rows) + end


TEXTS = {
    # Excel, File > Save as
    "excel-us.csv": long().encode("cp1252"),
    "excel-us-utf8.csv": long().encode("utf-8-sig"),
    "excel-german.csv": long(";", ",").encode("cp1252"),
    "excel-german-utf8.csv": long(";", ",").encode("utf-8-sig"),
    "excel-unicode.txt": long("\t", ",").encode("utf-16"),
    "excel-tabs.txt": long("\t").encode("cp1252"),
    "excel-sep-line.csv": b"sep=;\r\n" + long(";", ",").encode("cp1252"),
    "excel-thousands.csv": long(";", ",").replace("1250,25", "1.250,25").encode("cp1252"),
    "excel-french.csv": long(";", ",").replace("1250", "1\u202f250").encode("utf-8-sig"),
    "excel-errors.csv": long(blank="#N/A").encode("utf-8-sig"),
    # LibreOffice, quoted texts
    "libreoffice.csv": long(end="\n", quote='"').encode(),
    "libreoffice-german.csv": long(";", ",", end="\n", quote='"').encode(),
    "libreoffice-quoted-commas.csv": long(end="\n")
    .replace("0.5", '"0,5"')
    .replace("1250.25", '"1250,25"')
    .replace("-3.125", '"-3,125"')
    .encode(),
    "libreoffice-utf16.csv": long(end="\n", quote='"').encode("utf-16-le"),
    # R
    "r-write-csv.csv": "".join(
        f"{first},{line}\n"
        for first, line in zip(
            ['""', '"1"', '"2"', '"3"', '"4"'],
            long(blank="NA", quote='"', end="\n").splitlines(),
            strict=True,
        )
    ).encode(),
    "r-write-csv2.csv": long(";", ",", "NA", "\n", '"').encode(),
    "r-write-table.tsv": long("\t", ".", "NA", "\n").encode(),
    # by hand
    "wide.csv": wide().encode(),
    "wide-german.csv": wide(";", ",").encode("cp1252"),
    "wide.tsv": wide("\t").encode("utf-16"),
    "n-and-note.csv": (
        "Round;Arm;Value;N;Note\n1;wt;0,5;1,0;\n1;A12G;1250,25;;a bubble\n2;K7R;\u2013;;\n"
        "2;É5Q;\u22123,125;1;\n"
    ).encode(),
    # refused
    "below-limit.csv": long(blank="<0.1").encode(),
    "ambiguous.csv": long(";")
    .replace("0.5", "1,234")
    .replace("1250.25", "2,500")
    .replace("-3.125", "")
    .encode(),
    "mixed.csv": long(";").replace("0.5", "0,5").encode(),
    "decimal-comma-unquoted.csv": long(",", ",").encode(),
    "r-write-table.txt": long(" ", quote='"', blank="NA", end="\n").encode(),
    "percent.csv": long().replace("0.5", "50%").encode(),
    "broken-formula.csv": long(blank="#DIV/0!").encode(),
    "date.csv": long(";").replace("1250.25", "01. Feb").encode(),
    "old.xls": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504),
    "twice.csv": (long() + "1,wt,0.51237\r\n" * 2).encode(),
}

TYPES = (
    '<?xml version="1.0" encoding="UTF-8"?><Types xmlns="http://schemas.openxmlformats.org/package/'
    '2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-'
    'package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>'
    '<Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-'
    'officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/>'
    "</Types>"
)
RELATIONS = (
    '<?xml version="1.0" encoding="UTF-8"?><Relationships xmlns="http://schemas.openxmlformats.org/'
    'package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/'
    'officeDocument/2006/relationships/{kind}" Target="{target}"/></Relationships>'
)
BOOK = (
    '<?xml version="1.0" encoding="UTF-8"?><workbook xmlns="http://schemas.openxmlformats.org/'
    'spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/'
    'relationships"><sheets><sheet name="Tabelle1" sheetId="1" r:id="rId1"/></sheets></workbook>'
)


def cell(place, value):
    if isinstance(value, tuple):  # a formula, and what it was when it was saved
        formula, cached = value
        kept = "" if cached is None else f"<v>{cached}</v>"
        return f'<c r="{place}"><f>{formula}</f>{kept}</c>'
    if isinstance(value, str):
        kind = "e" if value.startswith("#") else "inlineStr"
        inside = f"<v>{value}</v>" if kind == "e" else f"<is><t>{value}</t></is>"
        return f'<c r="{place}" t="{kind}">{inside}</c>'
    return f'<c r="{place}"><v>{value}</v></c>'


def workbook(rows, first=1):
    """A small one, by hand: openpyxl writes no formulas with their values."""
    lines = "".join(
        f'<row r="{k}">'
        + "".join(cell(f"{'ABCDE'[c]}{k}", one) for c, one in enumerate(row) if one is not None)
        + "</row>"
        for k, row in enumerate(rows, start=first)
    )
    page = (
        '<?xml version="1.0" encoding="UTF-8"?><worksheet xmlns="http://schemas.openxmlformats.org/'
        f'spreadsheetml/2006/main"><sheetData>{lines}</sheetData></worksheet>'
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in (
            ("[Content_Types].xml", TYPES),
            ("_rels/.rels", RELATIONS.format(kind="officeDocument", target="xl/workbook.xml")),
            ("xl/workbook.xml", BOOK),
            (
                "xl/_rels/workbook.xml.rels",
                RELATIONS.format(kind="worksheet", target="worksheets/sheet1.xml"),
            ),
            ("xl/worksheets/sheet1.xml", page),
        ):
            packed.writestr(zipfile.ZipInfo(name), text)
    return out.getvalue()


HEAD = ["round", "arm", "value"]
ROWS = [[1, "wt", 0.5], [1, "A12G", 1250.25], [2, "K7R", None], [2, "É5Q", -3.125]]
BOOKS = {
    "excel.xlsx": workbook([HEAD, *ROWS]),
    "excel-empty-lines.xlsx": workbook([HEAD, *ROWS], first=4),
    "excel-formulas.xlsx": workbook([HEAD, [1, "wt", ("1/2", 0.5)], *ROWS[1:]]),
    "excel-errors.xlsx": workbook([HEAD, *ROWS[:2], [2, "K7R", "#N/A"], ROWS[3]]),
    "excel-texts.xlsx": workbook(
        [HEAD, *([str(r), a, str(v or "").replace(".", ",")] for r, a, v in ROWS)]
    ),
    "excel-wide.xlsx": workbook(
        [
            ["round", "wt", "A12G", "K7R", "É5Q"],
            [1, 0.5, 1250.25],
            [2, None, None, "n.d.", -3.125],
        ]
    ),
    "formula-not-computed.xlsx": workbook([HEAD, [1, "wt", ("1/2", None)], *ROWS[1:]]),
}


def dated(column):
    import openpyxl

    book = openpyxl.Workbook()
    for row in [HEAD, *ROWS]:
        book.active.append(row)
    book.active[f"{column}3"] = datetime(2026, 2, 1)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def document():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        name = zipfile.ZipInfo("mimetype")
        packed.writestr(name, "application/vnd.oasis.opendocument.spreadsheet")
    return out.getvalue()


if __name__ == "__main__":
    made = {"excel-date.xlsx": dated("C"), "excel-date-arm.xlsx": dated("B")}
    for name, raw in {**TEXTS, **BOOKS, **made, "libreoffice.ods": document()}.items():
        (HERE / name).write_bytes(raw)
