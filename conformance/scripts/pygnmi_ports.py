"""Reads, watches and disables a port over gNMI, as operators do with pygnmi.

    pygnmi_ports.py HOST:PORT INTERFACE

Whatever is not as it should be ends the script with an error.
"""
import sys

from pygnmi.client import gNMIclient

address, interface = sys.argv[1:]
host, port = address.rsplit(":", 1)
STATE = f"/interfaces/interface[name={interface}]/state"
ENABLED = f"/interfaces/interface[name={interface}]/config/enabled"


def leaves(answer):
    """Returns the values of an answer by the last node of their path."""
    updates = [update for one in answer["notification"] for update in one["update"]]
    return {update["path"].rsplit("/", 1)[-1]: update["val"] for update in updates}


def get(client, path):
    return leaves(client.get(path=[path], datatype="state", encoding="proto"))


with gNMIclient(target=(host, int(port)), insecure=True) as client:
    models = {model["name"] for model in client.capabilities()["supported_models"]}
    assert "openconfig-interfaces" in models, models
    print("checked capabilities", flush=True)

    found = get(client, STATE)
    assert found["ifindex"] == 1 and found["oper-status"] == "UP", found
    print("checked get", flush=True)

    once = {"mode": "once", "encoding": "proto", "subscription": [{"path": f"{STATE}/oper-status"}]}
    answers = list(client.subscribe2(subscribe=once))
    said = [answer["update"]["update"] for answer in answers if "update" in answer]
    assert [update["val"] for updates in said for update in updates] == ["UP"], answers
    print("checked subscribe", flush=True)

    for enabled, status in [(False, "DOWN"), (True, "UP")]:
        client.set(update=[(ENABLED, enabled)], encoding="json")
        found = get(client, STATE)
        assert found["admin-status"] == status, (enabled, found)
    print("checked set", flush=True)
print("done", flush=True)
