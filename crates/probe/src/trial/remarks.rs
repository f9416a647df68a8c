//! Remarks on the behaviour of the controller. Notes on the quality of the measurement are in
//! `notes`.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::config::Load;
use crate::engine::SwitchHandshake;
use crate::outcome::{Counts, SwitchOutcome};

/// The CPU time, in percent of a core, from which a controller that receives no traffic counts as
/// busy. Link discovery and keep-alives of many switches take less.
const BUSY_BEFORE_PERCENT: f64 = 25.0;
/// The time between handshakes and traffic from which the controller's CPU time is examined. After
/// a shorter time, it may still work on the handshakes.
const LONG_SETTLE: Duration = Duration::from_millis(500);

/// Returns a remark if the controller was busy before traffic began. `cpu` is the CPU time that it
/// used in the second half of the time between handshakes and traffic, in percent of a core.
pub(super) fn busy_before(settle: Duration, cpu: f64) -> Option<String> {
    (settle >= LONG_SETTLE && cpu > BUSY_BEFORE_PERCENT).then(|| {
        format!(
            "The controller used {cpu:.0} % of a core in the {:.1} s before the first packet-in: it was busy with \
             something else, such as work left by an earlier trial, and the figures include that. Give it time with \
             --settle, or restart it with --between.",
            settle.as_secs_f64() / 2.0
        )
    })
}

/// Returns remarks on problems in the handshakes of switches.
pub(super) fn of_handshakes(handshakes: &[SwitchHandshake]) -> Vec<String> {
    let pipelines = pipelines(handshakes);
    if pipelines.len() < 2 {
        return Vec::new();
    }
    let each: Vec<String> =
        pipelines.iter().map(|(name, count)| format!("{count} have {name}")).collect();
    vec![format!(
        "Switches do not all have the same pipeline, so that the figures are of no single one: {}. \
         A controller may keep the pipeline of a device that it knows from before (ONOS does): start \
         it anew with --between, or give the switches ids that it has not seen with --first-id.",
        each.join("; ")
    )]
}

/// Returns the number of switches that run each P4 pipeline, by the name of the pipeline.
pub(super) fn pipelines(handshakes: &[SwitchHandshake]) -> BTreeMap<String, u32> {
    let mut pipelines = BTreeMap::new();
    for name in handshakes.iter().filter_map(|handshake| handshake.pipeline.clone()) {
        *pipelines.entry(name).or_default() += 1;
    }
    pipelines
}

/// Describes the P4 pipeline that all switches ran. Returns `None` if they ran several or none.
pub(super) fn of_pipelines(pipelines: &BTreeMap<String, u32>) -> Option<String> {
    let [name] = pipelines.keys().collect::<Vec<_>>()[..] else { return None };
    Some(format!("The switches ran the pipeline {name}."))
}

/// Returns a remark about the messages that the figures count, if these are not packet-ins.
pub(super) fn of_load(load: Load) -> Vec<String> {
    match load {
        Load::PacketIn => Vec::new(),
        Load::Digest => vec![
            "The load is lists of one digest, and their answers are acknowledgements. The traffic \
             behind them is not there: no packet enters a switch."
                .to_owned(),
        ],
        Load::IdleTimeout => vec![
            "The load is notifications that a table entry has been idle, and their answers are the \
             first updates with the keys of those entries. The entries are the switches' own, as if packets had added them; a \
             controller that minds only entries that it wrote itself does not answer."
                .to_owned(),
        ],
    }
}

/// Returns a remark if the kernel does not report the state of TCP connections. It also says what
/// the verdict then cannot decide.
pub(super) fn of_sockets(failure: Option<&str>) -> Vec<String> {
    let note = |failure: &str| {
        format!(
            "The kernel does not list the sockets of the connections ({failure}): the verdict cannot \
             tell the network from the controller."
        )
    };
    failure.map(note).into_iter().collect()
}

/// Returns a remark if most packet-ins have several answers, from which it follows that the
/// controller floods packets. If only some packet-ins have several answers, the remark says that it
/// sends some packets again.
pub(super) fn of_answers(counts: &Counts, switches: &[SwitchOutcome], load: Load) -> Vec<String> {
    // A repeated acknowledgement of a list changes nothing.
    if load != Load::PacketIn {
        return Vec::new();
    }
    let floods = |counts: &Counts| 2 * counts.repeated > counts.answered;
    let at = switches.iter().filter(|switch| floods(&switch.counts)).count();
    let Counts { answered, duplicated, repeated, .. } = *counts;
    let each = (answered + duplicated) as f64 / answered.max(1) as f64;
    let whose = match (floods(counts), at) {
        (true, _) if at == switches.len() => "it floods".to_owned(),
        (true, _) => format!("it floods at {at} of {} switches", switches.len()),
        (false, 1..) => format!("it floods, but only at {at} of {} switches", switches.len()),
        (false, 0) if duplicated > answered / 10 => {
            return vec![format!(
                "{repeated} of {answered} packet-ins that were answered had further answers, \
                 {duplicated} in all: the controller sends some packets again. Only the first of \
                 them is the answer."
            )];
        }
        (false, 0) => return Vec::new(),
    };
    vec![format!(
        "The controller answered {repeated} of {answered} packet-ins with several packet-outs, {each:.1} \
         for a packet-in on average: {whose}, for instance because it does not know the hosts, and \
         what was measured is flooding. Only the first of them is the answer. In ONOS, reactive \
         forwarding learns of hosts by the application org.onosproject.hostprovider."
    )]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handshake(pipeline: Option<&str>) -> SwitchHandshake {
        SwitchHandshake { pipeline: pipeline.map(str::to_owned), ..SwitchHandshake::default() }
    }

    #[test]
    fn different_pipelines_are_said_with_their_switches() {
        assert!(
            of_handshakes(&[handshake(None), handshake(Some("a")), handshake(Some("a"))])
                .is_empty()
        );
        let mut handshakes = vec![handshake(Some("new")); 40];
        handshakes.extend(vec![handshake(Some("old")); 10]);
        let notes = of_handshakes(&handshakes);
        assert_eq!(notes.len(), 1);
        assert!(notes[0].contains(": 40 have new; 10 have old. "), "{notes:?}");
    }

    #[test]
    fn work_before_the_first_packet_is_said_unless_it_may_be_handshakes() {
        let second = Duration::from_secs(1);
        let note = busy_before(second, 65.0).expect("it is busy");
        assert!(note.contains("65 % of a core in the 0.5 s before"), "{note}");
        assert_eq!(busy_before(second, 8.0), None);
        assert_eq!(busy_before(Duration::from_millis(100), 65.0), None);
    }

    #[test]
    fn flooding_is_said_where_most_packet_ins_have_several_answers() {
        let counts = |answered, duplicated, repeated| Counts {
            answered,
            duplicated,
            repeated,
            ..Counts::default()
        };
        let note = |each: &[Counts]| {
            let mut all = Counts::default();
            for one in each {
                all.answered += one.answered;
                all.duplicated += one.duplicated;
                all.repeated += one.repeated;
            }
            let switches: Vec<SwitchOutcome> = each
                .iter()
                .map(|counts| SwitchOutcome { counts: *counts, ..SwitchOutcome::default() })
                .collect();
            of_answers(&all, &switches, Load::PacketIn).concat()
        };
        // These are the counts of an ONOS without its host provider: 2,000 packet-ins, 8,000
        // packet-outs.
        let said = note(&[counts(1_000, 3_000, 1_000); 2]);
        assert!(said.contains("2000 of 2000") && said.contains("4.0 for"), "{said}");
        assert!(said.contains(": it floods, for"), "{said}");
        // One duplicate in seven, or many duplicates of few packet-ins, is not flooding.
        for some in [counts(700, 100, 100), counts(700, 2_100, 100)] {
            let said = note(&[some]);
            assert!(said.starts_with("100 of 700") && !said.contains("flood"), "{said}");
        }
        let said = note(&[counts(1_000, 3_000, 1_000), counts(4_000, 0, 0)]);
        assert!(said.contains("it floods, but only at 1 of 2 switches"), "{said}");
        assert_eq!(note(&[counts(2_000, 200, 200)]), "");
        assert_eq!(note(&[counts(0, 0, 0)]), "");
    }
}
