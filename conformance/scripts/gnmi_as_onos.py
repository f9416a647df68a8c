"""What ONOS's drivers for Stratum ask about ports, and how they hear of changes.

    gnmi_as_onos.py HOST:PORT INTERFACE PEER...

The interfaces are ports 1, 2, ... of the switch, each before the far end of its cable. Whatever is not as
it should be ends the script with an error.
"""
import subprocess
import sys

import grpc
from finsy.proto import gnmi

address, names, peers = sys.argv[1], sys.argv[2::2], sys.argv[3::2]
channel = grpc.insecure_channel(address)
PATIENCE = 20


def call(name, request, answer):
    method = channel.unary_unary(
        f"/gnmi.gNMI/{name}",
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=answer.FromString,
    )
    return method(request, timeout=PATIENCE)


def path(*nodes, interface="..."):
    """A path below an interface; without nodes the interface itself."""
    elem = [gnmi.PathElem(name="interfaces"), gnmi.PathElem(name="interface", key={"name": interface})]
    return gnmi.Path(elem=elem + [gnmi.PathElem(name=node) for node in nodes])


def get(wanted):
    request = gnmi.GetRequest(path=[wanted], type=gnmi.GetRequest.ALL, encoding=gnmi.PROTO)
    return call("Get", request, gnmi.GetResponse).notification


def values(notifications):
    """By the interface and the leaf."""
    found = {}
    for update in (update for one in notifications for update in one.update):
        interface, leaf = update.path.elem[1].key["name"], update.path.elem[-1].name
        value = update.val
        found[interface, leaf] = getattr(value, value.WhichOneof("value"))
    return found


def discovery():
    """Which ports there are: a notification for each, its leaves four nodes deep."""
    notifications = get(path("state"))
    assert len(notifications) == len(names), notifications
    found = values(notifications)
    for number, name in enumerate(names, 1):
        assert found[name, "ifindex"] == found[name, "id"] == number, found
        assert found[name, "oper-status"] == "UP" and found[name, "name"] == name, found
    for one in notifications:
        assert one.timestamp > 0
        assert {len(update.path.elem) for update in one.update} == {4, 5}, one


def probes():
    """A path that leads nowhere shows that somebody speaks gNMI."""
    elem = [gnmi.PathElem(name="onos-gnmi-probe")]
    try:
        get(gnmi.Path(elem=elem))
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.INVALID_ARGUMENT, error
    else:
        raise AssertionError("a path that leads nowhere is answered")
    models = call("Capabilities", gnmi.CapabilityRequest(), gnmi.CapabilityResponse).supported_models
    assert {"openconfig-interfaces", "openconfig-p4rt"} <= {model.name for model in models}, models


class Subscribed:
    """A stream that tells changes of some leaves."""

    def __init__(self, mode, subscriptions, updates_only=False):
        subscribe = channel.stream_stream(
            "/gnmi.gNMI/Subscribe",
            request_serializer=gnmi.SubscribeRequest.SerializeToString,
            response_deserializer=gnmi.SubscribeResponse.FromString,
        )
        whole = gnmi.SubscriptionList(mode=mode, subscription=subscriptions, updates_only=updates_only)
        requests = iter([gnmi.SubscribeRequest(subscribe=whole)])
        self.answers = subscribe(requests, timeout=PATIENCE)

    def before_sync(self):
        found = []
        for answer in self.answers:
            if answer.sync_response:
                return values(found)
            found.append(answer.update)
        raise AssertionError("the stream ended before all was told")

    def next(self):
        return values([next(self.answers).update])


def changes():
    """Of each port its status, and nothing before it changes."""
    one = lambda name: gnmi.Subscription(
        path=path("state", "oper-status", interface=name), mode=gnmi.ON_CHANGE
    )
    told = Subscribed(gnmi.SubscriptionList.STREAM, [one(name) for name in names], updates_only=True)
    assert told.before_sync() == {}
    link(peers[1], "down")
    assert told.next() == {(names[1], "oper-status"): "DOWN"}
    link(peers[1], "up")
    assert told.next() == {(names[1], "oper-status"): "UP"}
    # What is switched off is down, and says who wanted it.
    enable(names[0], False)
    assert told.next() == {(names[0], "oper-status"): "DOWN"}
    assert values(get(path("state", "admin-status", interface=names[0]))) == {
        (names[0], "admin-status"): "DOWN"
    }
    enable(names[0], True)
    assert told.next() == {(names[0], "oper-status"): "UP"}
    told.answers.cancel()


def enable(name, enabled):
    update = gnmi.Update(
        path=path("config", "enabled", interface=name), val=gnmi.TypedValue(bool_val=enabled)
    )
    answer = call("Set", gnmi.SetRequest(update=[update]), gnmi.SetResponse)
    assert len(answer.response) == 1, answer


def link(interface, state):
    subprocess.run(["ip", "link", "set", interface, state], check=True)


def counters():
    """Port statistics, asked for and as samples."""
    leaves = {
        leaf for _, leaf in values(get(path("state", "counters", interface=names[0])))
    }
    assert {"in-octets", "out-octets", "in-unicast-pkts", "out-discards", "out-errors"} <= leaves, leaves
    sample = gnmi.Subscription(
        path=path("state", "counters", interface=names[0]),
        mode=gnmi.SAMPLE,
        sample_interval=100_000_000,
    )
    told = Subscribed(gnmi.SubscriptionList.STREAM, [sample])
    at_first = told.before_sync()
    assert (names[0], "in-octets") in at_first, at_first
    assert at_first.keys() == told.next().keys() == told.next().keys()
    told.answers.cancel()
    once = Subscribed(
        gnmi.SubscriptionList.ONCE, [gnmi.Subscription(path=path("state", "oper-status"))]
    )
    assert once.before_sync() == {(name, "oper-status"): "UP" for name in names}
    assert list(once.answers) == []


for check in [discovery, probes, changes, counters]:
    check()
    print("checked", check.__name__, flush=True)
print("done", flush=True)
