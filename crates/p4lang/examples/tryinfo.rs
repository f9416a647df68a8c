//! try
fn main() {
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path).unwrap();
        let p = if path.ends_with("json") {
            p4lang::bmv2::load_bmv2_json(&text).unwrap()
        } else {
            p4lang::compile_text(&path, &text, &Default::default(), &p4lang::preprocess::DiskFiles)
                .program
                .unwrap()
        };
        println!("{:#?}", p4lang::p4info::generate(&p));
    }
}
