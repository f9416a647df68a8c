//! Writes a report of each kind from made-up results, for a look after a change of its style:
//! `cargo run -p report --example gallery -- DIRECTORY`.

#[path = "../tests/report/support.rs"]
mod support;

use std::path::Path;
use std::process::ExitCode;

use report::{Layout, RunDirectory};

fn main() -> ExitCode {
    let Some(base) = std::env::args_os().nth(1) else {
        eprintln!("usage: gallery DIRECTORY");
        return ExitCode::from(2);
    };
    let all = [
        ("single", support::single()),
        ("sweep", support::sweep()),
        ("rates", support::rates()),
        ("figure-7", support::figure_7()),
        ("search", support::search()),
        ("failed", support::failed()),
        ("partial", support::partial()),
        ("thousand", support::thousand()),
        ("closed", support::closed()),
        ("hostile", support::hostile()),
    ];
    for (name, result) in all {
        println!("\n=== {name}\n");
        print!("{}", report::table(&result, Layout { width: 100, colour: false }));
        let begun = std::time::Instant::now();
        let written = RunDirectory::create(Some(&Path::new(&base).join(name)))
            .map_err(|error| error.to_string())
            .and_then(|mut directory| {
                let toml = "protocol = \"openflow13\"\n\n[switches]\ncount = 16\n";
                directory.write_configuration(toml).map_err(|error| error.to_string())?;
                directory.write(&result).map_err(|error| error.to_string())
            });
        match written {
            Ok(files) => println!("\n{} files in {:?}", files.len(), begun.elapsed()),
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
