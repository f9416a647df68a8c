#!/usr/bin/env python3
"""Puts three figures of real runs side by side, one for each question: docs/figures/three-questions.svg.

    planimeter controller --first-port 20001 --count 1 --service-time 1ms & controller=$!
    planimeter probe -p p4runtime -n 1 --plan sweep --sweep-rates 200..1800:200 --warm-up 500ms \\
        --duration 2s --repetitions 3 -o runs/picture/controller
    kill $controller
    planimeter report runs/picture/controller --figure-width 80mm -o runs/picture/probe
    planimeter bench --entries 2^8,2^12,2^16,2^20 --time 100ms --repetitions 4 --figure-width 80mm \\
        -o runs/picture/bench
    planimeter bound examples/networks/ethernet.toml --flow 'best effort' --vary video.rate=0..100Mbps:20 \\
        --figure-width 80mm -o runs/picture/bound
    docs/figures/compose.py runs/picture

The first figure of each run is taken. The controller is Planimeter's own, with a limit of 1,000 packet-ins/s.
"""
import pathlib
import re
import sys

PANELS = [
    ("How much can this controller take?", "probe"),
    ("How fast is this P4 program?", "bench"),
    ("What delay can be guaranteed?", "bound"),
]
GAP, TOP = 14, 26

runs = pathlib.Path(sys.argv[1])
x, height, body = 0, 0, ""
for title, run in PANELS:
    figure = next((runs / run / "figures").glob("figure-01-*.svg")).read_text()
    wide, high = map(float, re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', figure).groups())
    placed = f'<svg x="{x:g}" y="{TOP}" width="{wide:g}" height="{high:g}"'
    figure = re.sub(r'<svg xmlns="[^"]*" width="[^"]*" height="[^"]*"', placed, figure, count=1)
    body += f'<text x="{x + 4:g}" y="15" font-size="13" font-weight="bold" fill="#1b1f24">{title}</text>\n'
    body += figure.strip() + "\n"
    x += wide + GAP
    height = max(height, high + TOP)
width = x - GAP
(pathlib.Path(__file__).parent / "three-questions.svg").write_text(
    f"""<!-- Written by docs/figures/compose.py, which has the commands of the runs. -->
<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}" font-family="Helvetica, Arial, sans-serif">
<title>The answered rate of a controller, the throughput of a program, the delay bound of a flow</title>
<rect width="{width:g}" height="{height:g}" fill="#ffffff"/>
{body}</svg>
"""
)
