// SPDX-License-Identifier: MIT
//! Runs a program through a plugin: sines PLUGIN.so MODEL.pte. Its input is four numbers.
use tenon::{Input, Method, MethodOptions, Program, Registry, Result};

// [run]
fn run(plugin: &str, model: &str) -> Result<()> {
    let registry = Registry::new()?;
    registry.register_plugin(plugin)?; // read, not loaded
    let program = Program::open(model)?; // mapped, fully verified
    let options = MethodOptions { registry: Some(&registry), ..Default::default() };
    let mut method = Method::load(&program, "forward", options)?;
    let values = [0.1_f32, 0.2, 0.3, 0.4];
    let inputs = [Input::new(&values, &[1, 4])]; // not copied
    let outputs = method.run(&inputs)?;
    for sine in outputs.get::<f32>(0)?.data {
        println!("{sine}");
    }
    Ok(())
}
// [run]

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() != 3 {
        eprintln!("usage: sines PLUGIN.so MODEL.pte");
        std::process::exit(2);
    }
    if let Err(error) = run(&arguments[1], &arguments[2]) {
        eprintln!("sines: {error}");
        std::process::exit(1);
    }
}
