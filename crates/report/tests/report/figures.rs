//! Figures as files.

use report::RunDirectory;

use crate::{letters, support};

#[test]
fn pdf_files_have_a_glyph_for_each_letter_of_every_figure() {
    let all = [
        ("sweep", support::sweep()),
        ("figure-7", support::figure_7()),
        ("hostile", support::hostile()),
    ];
    for (name, result) in all {
        let root = tempfile::tempdir().expect("a temporary directory");
        let directory = RunDirectory::create(Some(root.path())).expect("made");
        directory.write(&result).expect("written");
        assert!(letters::check(root.path()) > 0, "{name} has figures");
    }
}
