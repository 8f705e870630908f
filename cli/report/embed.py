#!/usr/bin/python3
"""embed.py PAGE OUT.c - the page of `phloem report` as a C string."""
import sys

MARK = b"@PHLOEM-REPORT-DATA@"
ESCAPES = {ord("\\"): b"\\\\", ord('"'): b'\\"', ord("\n"): b"\\n", ord("?"): b"\\?"}
LINE = 2000

with open(sys.argv[1], "rb") as stream:
    page = stream.read()
if page.count(MARK) != 1 or 0 in page:
    sys.exit(f"{sys.argv[1]}: the mark for the data is not there exactly once")
plain = [ESCAPES.get(byte, bytes([byte]) if 32 <= byte < 127 else b"\\%03o" % byte)
         for byte in range(256)]
with open(sys.argv[2], "wb") as stream:
    stream.write(b"/* Made by cli/report/embed.py from report/page.html. */\n"
                 b"extern const char report_page[];\nconst char report_page[] =\n")
    for at in range(0, len(page), LINE):
        stream.write(b'"' + b"".join(plain[byte] for byte in page[at:at + LINE]) + b'"\n')
    stream.write(b";\n")
