//! Tests of completion.

use crate::support::schema;
use ctl::{Completion, complete};

fn completed(line: &str) -> Vec<String> {
    let Completion { start, words } = complete(Some(&schema()), line);
    assert!(line.is_char_boundary(start));
    words
}

#[test]
fn commands_tables_actions_fields_and_parameters_are_completed() {
    for (line, expected) in [
        ("regis", &["register ", "register_read ", "register_reset ", "register_write "][..]),
        ("register ", &["read ", "reset ", "write "]),
        ("table se", &["set-default "]),
        ("help mul", &["multicast "]),
        ("help multicast d", &["delete ", "dump "]),
        ("table dump ro", &["routes "]),
        ("table add routes ", &["counted ", "drop ", "dst=", "forward "]),
        ("table add routes hdr.", &["hdr.ipv4.dst="]),
        ("table add routes dst=10.0.0.0/8 co", &["counted "]),
        ("table add routes dst=10.0.0.0/8 counted ", &["port="]),
        ("table add routes dst=10.0.0.0/8 counted port=1 ", &[]),
        (
            "table add filters --priority 5 src=1 ",
            &["drop ", "forward ", "length=", "limited ", "protocol="],
        ),
        ("table add filters --p", &["--priority "]),
        ("table delete filters ", &["length=", "protocol=", "src="]),
        ("table set-default always cl", &["classify "]),
        ("table set-default always classify ", &["class="]),
        ("table_add routes ", &["counted ", "drop ", "forward "]),
        ("member add ch", &["choices "]),
        ("member add choices 1 f", &["forward "]),
        ("member add choices 1 forward ", &["port="]),
        ("act_prof_create_member choices fo", &["forward "]),
        ("counter read ", &["hits ", "ports "]),
        ("counter_read h", &["hits "]),
        ("meter write r", &["rates "]),
        ("register read ", &["seen "]),
        ("digest enable l", &["learned_t "]),
        ("pvs_add ", &["types "]),
        ("packet out 00 p", &["padding=", "port="]),
        ("listen d", &["digests "]),
        ("listen --f", &["--for "]),
        ("nonsense ", &[]),
        ("table dump nonsense ", &[]),
        ("table add 'rou", &[]),
    ] {
        assert_eq!(completed(line), expected, "{line}");
    }
}

#[test]
fn the_word_that_is_completed_begins_where_it_stands() {
    assert_eq!(complete(Some(&schema()), "table dump  ro").start, 12);
    assert_eq!(complete(Some(&schema()), "table dump ").start, 11);
}

/// Without a pipeline, commands are completed and names are not.
#[test]
fn commands_are_completed_without_a_pipeline() {
    assert_eq!(complete(None, "pipeline p").words, ["push "]);
    assert!(complete(None, "table dump ").words.is_empty());
}

/// Each first word that completion offers begins a command that the parser understands.
#[test]
fn every_offered_command_exists() {
    for word in completed("") {
        let rest = completed(&word);
        let is_whole = ctl::OWN.iter().chain(ctl::SIMPLE_SWITCH).any(|one| one.name == word.trim());
        let begins_one = rest.iter().any(|second| {
            ctl::OWN.iter().any(|one| one.name == format!("{}{}", word, second.trim()))
        });
        assert!(is_whole || begins_one, "{word}: {rest:?}");
    }
}
