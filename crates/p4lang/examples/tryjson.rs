//! try
fn main() {
    for path in std::env::args().skip(1) {
        match p4lang::bmv2::load_bmv2_json(&std::fs::read_to_string(&path).unwrap()) {
            Ok(p) => {
                println!("{}", p.to_text());
                println!("{:?}", p.validate());
            }
            Err(e) => println!("{e}"),
        }
    }
}
