// SPDX-License-Identifier: MIT
//! Recommends items to who has seen some: recommender PLUGIN.so MODEL.pte ITEM ITEM ITEM ITEM
use std::error::Error;
use tenon::{Input, Method, MethodOptions, Program, Registry};

const TOP: usize = 5;

fn run(plugin: &str, model: &str, seen: &[String]) -> Result<(), Box<dyn Error>> {
    let seen = seen.iter().map(|item| item.parse()).collect::<Result<Vec<i64>, _>>()?;
    // [run]
    let registry = Registry::new()?;
    registry.register_plugin(plugin)?;
    let program = Program::open(model)?;
    let options = MethodOptions { registry: Some(&registry), ..Default::default() };
    let mut method = Method::load(&program, "forward", options)?;
    let inputs = [Input::new(&seen, &[1, 4])];
    let outputs = method.run(&inputs)?; // Refuses items that the model does not have.

    let scores = outputs.get::<f32>(0)?.data;
    let mut items: Vec<_> = (0..scores.len()).filter(|&i| !seen.contains(&(i as i64))).collect();
    items.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    for &item in items.iter().take(TOP) {
        println!("item {item}: {}", scores[item]);
    }
    // [run]
    Ok(())
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.as_slice() {
        [plugin, model, seen @ ..] if seen.len() == 4 => run(plugin, model, seen),
        _ => Err("usage: recommender PLUGIN.so MODEL.pte ITEM ITEM ITEM ITEM".into()),
    };
    if let Err(error) = outcome {
        eprintln!("recommender: {error}");
        std::process::exit(1);
    }
}
