// SPDX-License-Identifier: MIT
//! Says which shape a picture has: classifier PLUGIN.so MODEL.pte PICTURE.ppm
use std::error::Error;
use tenon::{Input, Method, MethodOptions, Program, Registry};

const SHAPES: [&str; 5] = ["circle", "cross", "ring", "square", "triangle"];
const HEADER: &[u8] = b"P6\n32 32\n255\n";
const POINTS: usize = 32 * 32;
const TOP: usize = 3;

/// Numbers from 0 to 1, all of a channel in a row.
fn read_picture(path: &str) -> Result<Vec<f32>, Box<dyn Error>> {
    let bytes = std::fs::read(path)?;
    if !bytes.starts_with(HEADER) || bytes.len() != HEADER.len() + 3 * POINTS {
        let found = bytes.len();
        return Err(
            format!("{path}: expected a PPM picture of 32 by 32, found {found} bytes").into()
        );
    }
    let colours = &bytes[HEADER.len()..];
    let value = |i: usize| f32::from(colours[i % POINTS * 3 + i / POINTS]) / 255.0;
    Ok((0..3 * POINTS).map(value).collect())
}

fn run(plugin: &str, model: &str, path: &str) -> Result<(), Box<dyn Error>> {
    let picture = read_picture(path)?;
    // [run]
    let registry = Registry::new()?;
    registry.register_plugin(plugin)?;
    let program = Program::open(model)?;
    let options = MethodOptions { registry: Some(&registry), ..Default::default() };
    let mut method = Method::load(&program, "forward", options)?;
    let inputs = [Input::new(&picture, &[1, 3, 32, 32])];
    let outputs = method.run(&inputs)?;
    let found = outputs.get::<f32>(0)?.data;
    // [run]
    let mut best: Vec<_> = (0..SHAPES.len()).collect();
    best.sort_by(|&a, &b| found[b].total_cmp(&found[a]));
    for &i in best.iter().take(TOP) {
        println!("{}: {}", SHAPES[i], found[i]);
    }
    Ok(())
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.as_slice() {
        [plugin, model, path] => run(plugin, model, path),
        _ => Err("usage: classifier PLUGIN.so MODEL.pte PICTURE.ppm".into()),
    };
    if let Err(error) = outcome {
        eprintln!("classifier: {error}");
        std::process::exit(1);
    }
}
