// SPDX-License-Identifier: MIT
//! Continues a text of months by a letter at a time: generator PLUGIN.so MODEL.pte TEXT
use std::error::Error;
use tenon::{Input, Method, MethodOptions, Program, Registry};

const LETTERS: &[u8] = b" abcdefghijklmnopqrstuvwxyz";
const SEEN: usize = 12;
const MORE: usize = 16;

fn run(plugin: &str, model: &str, given: &str) -> Result<(), Box<dyn Error>> {
    let mut text = given.to_string();
    if text.len() < SEEN || !text.bytes().all(|letter| LETTERS.contains(&letter)) {
        let message = "expected 12 letters or more, a to z or blanks";
        return Err(format!("the text '{text}': {message}").into());
    }
    // [run]
    let registry = Registry::new()?;
    registry.register_plugin(plugin)?;
    let program = Program::open(model)?;
    let options = MethodOptions { registry: Some(&registry), ..Default::default() };
    let mut method = Method::load(&program, "forward", options)?;
    for _ in 0..MORE {
        let token = |letter| LETTERS.iter().position(|&each| each == letter).unwrap() as i64;
        let tokens: Vec<i64> = text.bytes().skip(text.len() - SEEN).map(token).collect();
        let inputs = [Input::new(&tokens, &[1, SEEN as i64])];
        let outputs = method.run(&inputs)?;
        let logits = outputs.get::<f32>(0)?.data; // For each of the letters.
        let last = &logits[logits.len() - LETTERS.len()..];
        let best = (0..last.len()).max_by(|&a, &b| last[a].total_cmp(&last[b])).unwrap();
        text.push(LETTERS[best] as char);
        println!("{text}: {}", last[best]);
    }
    // [run]
    Ok(())
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.as_slice() {
        [plugin, model, text] => run(plugin, model, text),
        _ => Err("usage: generator PLUGIN.so MODEL.pte TEXT".into()),
    };
    if let Err(error) = outcome {
        eprintln!("generator: {error}");
        std::process::exit(1);
    }
}
