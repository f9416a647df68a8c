//! try
use std::time::Instant;
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    for _ in 0..5 {
        let t = Instant::now();
        let parsed =
            p4lang::parse_text(&path, &text, &Default::default(), &p4lang::preprocess::DiskFiles);
        let a = t.elapsed();
        let mut d = p4lang::diagnostic::Diagnostics::new();
        let checked = p4lang::check::check(&parsed.program, &parsed.sources, &mut d);
        let b = t.elapsed();
        let p = p4lang::lower::lower(&checked, &parsed.sources, &mut d).unwrap();
        let c = t.elapsed();
        p.validate().unwrap();
        println!("parse {a:?} check {:?} lower {:?} validate {:?}", b - a, c - b, t.elapsed() - c);
    }
}
