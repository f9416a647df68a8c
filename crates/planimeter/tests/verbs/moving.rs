//! Tests for users who migrate from OFCProbe or P4RCProbe with a `config.ini`.

use std::fs;

use crate::command::{planimeter, stderr, stdout};
use tempfile::TempDir;

/// Settings of the file that are not supported are reported before the measurement starts.
#[test]
fn notes_about_a_legacy_file_are_shown() {
    let folder = TempDir::new().expect("a folder");
    let config = "config.hasTopology = true
config.switchCount = 2
switchConfig.portCountPerSwitch = 1
switchConfig.sendFlag = false
switchConfig.disableNagle = false
switchConfig.randomizeStats = true
trafficGenConfig.scenario = DDOS
trafficGenConfig.staticPayload = true
trafficGenConfig.fillThreshold = 10
trafficGenConfig.iatType = 1
trafficGenConfig.iatDistribution = Poisson
trafficGenConfig.iatDistributionParamter1 = 20
";
    let file = folder.path().join("config.ini");
    fs::write(&file, config).expect("written");
    fs::write(folder.path().join("topology.ini"), "1:1==2:1\n2:2==3:1\n").expect("written");
    let output = planimeter("probe", &["--legacy", &file.to_string_lossy(), "--print-config"]);
    let (shown, errors) = (stdout(&output), stderr(&output));
    assert!(output.status.success(), "{errors}");
    assert!(shown.contains("[traffic]") && !shown.contains("counterpart"), "{shown}");
    for expected in [
        "config.ini:4: switchConfig.sendFlag = false has no counterpart",
        "config.ini:5: switchConfig.disableNagle = false has no counterpart",
        "config.ini:6: switchConfig.randomizeStats = true has no counterpart",
        "config.ini:7: trafficGenConfig.scenario = DDOS has no counterpart",
        "config.ini:8: trafficGenConfig.staticPayload = true has no counterpart",
        "config.ini:9: 10 packets at once in every interval become single packets",
        "config.ini:11: intervals that are Poisson numbers of milliseconds become a gamma",
        "config.ini:3: switches get 2 ports instead of 1",
        "config.ini:1: 1 links of switches beyond config.switchCount = 2 are left out",
    ] {
        assert!(errors.contains(expected), "{expected}: {errors}");
    }
}
