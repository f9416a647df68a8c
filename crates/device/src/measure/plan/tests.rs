//! Tests of the cells of plans, and of the errors for plans that cannot be used.
use super::*;

fn read(text: &str) -> Result<Plan, PlanError> {
    Plan::from_toml(text, &mut |name| Err(format!("{name}: none here")))
}

#[test]
fn table_one_has_42_cells_of_which_12_are_for_training() {
    let plan = read("device.kind = 'open-vswitch'").expect("defaults are a plan");
    let cells = plan.campaign_cells();
    assert_eq!(cells.len(), 42);
    assert_eq!(cells.iter().filter(|cell| cell.functions.len() < 2).count(), 12);
    assert_eq!(cells.iter().filter(|cell| cell.functions.is_empty()).count(), 1);
    assert_eq!(plan.functions().len(), 11);
    let training =
        read("device.kind = 'open-vswitch'\nfunctions.combinations = 'training'").expect("a plan");
    assert_eq!(training.cells.len(), 12);
}

#[test]
fn sweeps_are_settings_of_their_own() {
    let plan = read(
        "device.kind = 'software-switch'
        functions.combinations = 'training'
        [settings]
        packet-bytes = [128, 1518]
        rules = [1, 100]
        headers = [0, 4]
        packets-per-second = [1000, 2000]",
    )
    .expect("a plan");
    assert_eq!(plan.cells.len(), 12 * 16);
    let cells = plan.campaign_cells();
    let settings: BTreeSet<String> = cells.iter().map(|c| format!("{:?}", c.setting)).collect();
    assert_eq!(settings.len(), 16);
}

#[test]
fn refusals_name_what_can_be_measured() {
    for (text, says) in [
        ("device.kind = 'zodiac'", "device.kind: \"zodiac\" is not a kind of device: open-vswitch"),
        ("device.kind = 'openflow'", "device.listen: give the address that the switch dials"),
        ("device.kind = 'manual'", "wire: send and receive must name the interfaces"),
        ("device.kind = 'memory'\ndevice.path = 'jit'", "device.path: \"jit\" is not"),
        (
            "device.kind = 'manual'\ndevice.path = 'compiled'",
            "device.path: a device of kind manual",
        ),
        (
            "device.kind = 'open-vswitch'\nsettings.headers = [1]",
            "settings.headers: a device of kind open-vswitch parses no headers of ours",
        ),
        ("device.kind = 'memory'\nsettings.packet-bytes = [60]", "60 is not from 64 to 1518"),
        ("device.kind = 'memory'\nfunctions.matches = ['tp-dst']", "the baseline"),
        (
            "device.kind = 'memory'\nfunctions.actions = ['output', 'drop']",
            "\"drop\" is not one of",
        ),
        ("device.kind = 'memory'\nsettings.rules = []", "give at least one value"),
        (
            "device.kind = 'memory'\nsettings.rules = [511]",
            "settings.rules: match port has no more than 510 different values",
        ),
        (
            "device.kind = 'open-vswitch'\nsettings.rules = [70000]",
            "settings.rules: match port has no more than 65278 different values",
        ),
        ("device.kind = 'memory'\ncampaign.packets = 0", "must be at least 1"),
        ("device.kind = 'memory'\nwire.send = 'a'", "give both send and receive"),
        ("device.kind = 'memory'\nrates.from = 10", "nothing is lost"),
        ("device.kind = 'memory'\ncampaign.blocks = 3", "unknown field `blocks`"),
    ] {
        let error = read(text).expect_err(text).to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
}
