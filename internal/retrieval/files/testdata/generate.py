"""Creates the files of this folder, which the tests read.

Requires python-docx, python-pptx, openpyxl, odfpy, pypdf and cryptography, and chromium-headless-shell.
Run it in this folder: python generate.py
"""

import datetime
import pathlib
import subprocess
import tempfile

import docx
import openpyxl
import pptx
from docx.oxml import OxmlElement
from odf import dc, draw, style, table, text
from odf.opendocument import OpenDocumentPresentation, OpenDocumentSpreadsheet, OpenDocumentText
from pypdf import PdfWriter

HANDBOOK = """<!doctype html><html lang="de"><head><meta charset=utf-8><title>Pump handbook</title>
<style>@page{size:A5;margin:15mm} p{hyphens:auto;text-align:justify;width:60mm} h1{break-before:page}</style></head>
<body><h1>Pumps</h1>
<p lang=en>Pump 7 moves water from the cellar to Hall 3. Its extraordinary characteristics include acoustic
measurements at every second, and uncharacteristically loud vibrations.</p>
<h1>Überprüfung</h1><p>Die Ventile werden im Februar geprüft. Donaudampfschifffahrtsgesellschaftskapitän.</p>
<table><tr><td>valve</td><td>12</td></tr></table></body></html>"""


def printed(html, name):
    """Prints HTML to a PDF file."""
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder, "page.html")
        page.write_text(html)
        subprocess.run(
            [
                "chromium-headless-shell",
                "--no-sandbox",
                f"--print-to-pdf={name}",
                "--no-pdf-header-footer",
                "--generate-pdf-document-outline",
                page.as_uri(),
            ],
            check=True,
        )


printed(HANDBOOK, "handbook.pdf")
PARAGRAPH = "<p>Pump 7 moves water from the cellar to Hall 3, and its sensor measures the noise every second.</p>"
printed("".join(f"<div style='break-after:page'>{PARAGRAPH * 20}</div>" for _ in range(3)), "long.pdf")
printed("<svg width=200 height=100><circle cx=50 cy=50 r=40 fill=red /></svg>", "picture.pdf")
protected = PdfWriter(clone_from="handbook.pdf")
protected.encrypt("secret", algorithm="AES-256")
protected.write("protected.pdf")

d = docx.Document()
d.core_properties.title = "Pump handbook"
d.add_heading("Pumps", 1)
p = d.add_paragraph("Pump 7 moves ")
p.add_run("water").bold = True
p.add_run(" to Hall 3.\tIt is loud.")
d.add_heading("Parts", 2)
t = d.add_table(2, 2)
for row, cells in enumerate((("valve", "12"), ("seal", "3"))):
    for column, content in enumerate(cells):
        t.cell(row, column).text = content
p = d.add_paragraph("kept")
for outer, inner, content in (("w:del", "w:delText", " deleted"), (None, "w:instrText", "PAGE")):
    run, element = OxmlElement("w:r"), OxmlElement(inner)
    element.text = content
    run.append(element)
    if outer:
        deleted = OxmlElement(outer)
        deleted.append(run)
        run = deleted
    p._p.append(run)
d.save("handbook.docx")

slides = (("Pumps", ["Pump 7 moves water", "to Hall 3"]), ("Parts", ["valve: 12"]))
pr = pptx.Presentation()
pr.core_properties.title = ""
for title, lines in slides:
    s = pr.slides.add_slide(pr.slide_layouts[1])
    s.shapes.title.text = title
    s.placeholders[1].text = "\n".join(lines)
pr.save("slides.pptx")

w = openpyxl.Workbook()
w.properties.title = "Parts list"
sheet = w.active
sheet.title = "Stock"
sheet.append(["part", "number", "price", "since", "checked"])
sheet.append(["valve", 12, 0.1 + 0.2, datetime.date(2026, 2, 28), True])
sheet.append(["seal", 1000000, 2.5, datetime.datetime(2026, 3, 1, 7, 40, 8), False])
w.create_sheet("Sites")["B2"] = "Hall 3"
w.save("parts.xlsx")


def odf_table(name, rows):
    """Returns a table of OpenDocument."""
    t = table.Table(name=name)
    for cells in rows:
        row = table.TableRow()
        for content in cells:
            cell = table.TableCell(valuetype="string")
            cell.addElement(text.P(text=content))
            row.addElement(cell)
        t.addElement(row)
    return t


o = OpenDocumentText()
o.meta.addElement(dc.Title(text="Pump handbook"))
o.text.addElement(text.H(outlinelevel=1, text="Pumps"))
p = text.P(text="Pump 7 moves")
p.addElement(text.S(c=2))
p.addText("water  to\n Hall 3.")
p.addElement(text.Tab())
p.addText("Loud.")
o.text.addElement(p)
o.text.addElement(text.H(outlinelevel=2, text="Parts"))
o.text.addElement(odf_table("T", (("valve", "12"), ("seal", "3"))))
o.save("handbook.odt")

o = OpenDocumentSpreadsheet()
o.spreadsheet.addElement(odf_table("Stock", (("part", "number"), ("valve", "12"))))
o.save("parts.ods")

o = OpenDocumentPresentation()
layout = style.PageLayout(name="L")
o.automaticstyles.addElement(layout)
master = style.MasterPage(name="M", pagelayoutname=layout)
o.masterstyles.addElement(master)
for title, lines in slides:
    page = draw.Page(masterpagename=master, name=title)
    for kind, content in (("title", title), ("outline", lines[0])):
        frame, box = draw.Frame(width="10cm", height="2cm"), draw.TextBox()
        frame.setAttrNS("urn:oasis:names:tc:opendocument:xmlns:presentation:1.0", "class", kind)
        box.addElement(text.P(text=content))
        frame.addElement(box)
        page.addElement(frame)
    o.presentation.addElement(page)
o.save("slides.odp")
