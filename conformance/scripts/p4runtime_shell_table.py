"""Prints the entries of a table, which matches exactly, a line of JSON for each.

    p4runtime_shell_table.py HOST:PORT DEVICE_ID TABLE [AUTHORITY [CERTIFICATE KEY]]

With an authority over TLS, with a certificate over mutual TLS.
"""
import json
import os
import sys

import p4runtime_sh.shell as sh
from p4runtime_sh.p4runtime import SSLOptions

address, device_id, table, *files = sys.argv[1:]
authority, certificate, key = (files + [None] * 3)[:3]
tls = SSLOptions(authority is None, authority, certificate, key)
sh.setup(int(device_id), address, election_id=(0, 1), ssl_options=tls, verbose=False)
[described] = [one for one in sh.context.p4info.tables if one.preamble.alias == table]
fields = {field.id: field.name for field in described.match_fields}
for entry in sh.TableEntry(table).read():
    match = entry.msg().match
    values = {fields[one.field_id]: int.from_bytes(one.exact.value, "big") for one in match}
    print("entry", json.dumps(values))
print("done", flush=True)
os._exit(0)
