"""Prints every link that os-ken's own topology discovery finds: python os_ken_links.py PORT"""
import sys

from os_ken import cfg
from os_ken.base.app_manager import AppManager, OSKenApp
from os_ken.controller.handler import set_ev_cls
from os_ken.topology import event, switches  # noqa: F401 (defines --observe-links)


class Links(OSKenApp):
    @set_ev_cls(event.EventLinkAdd)
    def added(self, added):
        source, destination = added.link.src, added.link.dst
        print("link", f"{source.dpid}:{source.port_no}", f"{destination.dpid}:{destination.port_no};", flush=True)


if __name__ == "__main__":
    cfg.CONF(["--ofp-listen-host=127.0.0.1", f"--ofp-tcp-listen-port={sys.argv[1]}", "--observe-links"])
    AppManager.run_apps([__file__])
