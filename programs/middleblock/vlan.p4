// VLANs: ingress removes the tag of a packet, and egress adds the tag of the router interface.

control vlan_untagging(inout headers_t headers, inout metadata_t meta) {
    action disable_checks() {
        meta.checks_vlan = false;
    }

    // The ports that accept packets of all VLANs. An entry without a port applies to all ports.
    table disable_vlan_checks {
        key = { meta.ingress_port: optional @name("in_port") @id(1); }
        actions = { disable_checks; @defaultonly NoAction; }
        const default_action = NoAction;
        size = 64;
    }

    apply {
        meta.checks_vlan = true;
        disable_vlan_checks.apply();
        if (headers.vlan.isValid()) {
            meta.is_tagged = headers.vlan.vlan_id != NO_VLAN;
            meta.vlan_id = headers.vlan.vlan_id;
            headers.ethernet.ether_type = headers.vlan.ether_type;
            headers.vlan.setInvalid();
        }
    }
}

// Drops packets whose VLAN does not exist, and packets whose port is not a member of their VLAN.
control vlan_checks(inout metadata_t meta) {
    bool is_member = false;

    @entry_restriction("
        // 0 is no VLAN, and 4095 is reserved.
        vlan_id != 0;
        vlan_id != 4095;
    ")
    table vlan {
        key = { meta.vlan_id: exact @name("vlan_id") @id(1); }
        actions = { NoAction; }
        const default_action = NoAction;
        size = 4094;
    }

    action tagged_member() {
        is_member = meta.is_tagged;
    }

    action untagged_member() {
        is_member = !meta.is_tagged;
    }

    table vlan_membership {
        key = {
            meta.vlan_id: exact @name("vlan_id") @id(1) @refers_to(vlan, vlan_id);
            meta.ingress_port: exact @name("port") @id(2);
        }
        actions = { tagged_member; untagged_member; @defaultonly NoAction; }
        const default_action = NoAction;
        size = 8192;
    }

    apply {
        if (meta.checks_vlan && meta.vlan_id != NO_VLAN) {
            if (vlan.apply().hit) {
                vlan_membership.apply();
            }
            if (!is_member) {
                meta.is_dropped = true;
            }
        }
    }
}
