// SPDX-License-Identifier: MIT
//! TENON_TEST_PLUGIN is demo_backend.so, TENON_TEST_MODEL the program of tests/fixtures/demo_sin_inline,
//! TENON_TEST_COUNTING the plugin of tests/unit/host/c. wait.pte is a program with a delegate of that one,
//! whose runs end only when they are cancelled.
use std::thread;
use tenon::{
    Canceller, Error, Input, Method, MethodOptions, Program, Registry, Session, CANCELLED,
};

fn path(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

fn registry() -> Registry {
    let registry = Registry::new().unwrap();
    registry.register_plugin(path("TENON_TEST_PLUGIN")).unwrap();
    registry
}

fn program() -> Program {
    Program::open(path("TENON_TEST_MODEL")).unwrap()
}

fn load(program: &Program, registry: &Registry) -> Method {
    let options = MethodOptions { registry: Some(registry), ..Default::default() };
    Method::load(program, "forward", options).unwrap()
}

const SHAPE: [i64; 2] = [1, 4];

/// Runs the method, which computes sines.
fn check_sines(method: &mut Method, values: [f32; 4]) {
    let inputs = [Input::new(&values, &SHAPE)];
    let outputs = method.run(&inputs).unwrap();
    assert_eq!(outputs.len(), 1);
    let sines = outputs.get::<f32>(0).unwrap();
    assert_eq!(sines.shape, SHAPE);
    for (value, sine) in values.iter().zip(sines.data) {
        assert!((value.sin() - sine).abs() < 1e-6, "sine of {value} is {sine}");
    }
}

#[test]
fn a_program_runs_and_outlives_what_it_was_loaded_with() {
    assert_eq!(tenon::c_version().0, 1);
    let (program, registry) = (program(), registry());
    assert_eq!(program.methods(), ["forward"]);
    registry.check_backend("BackendWithCompilerDemo").unwrap();
    let mut method = load(&program, &registry);
    drop((program, registry));
    check_sines(&mut method, [0.1, 0.2, 0.3, 0.4]);
    check_sines(&mut method, [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn a_failure_has_the_text_of_the_host() {
    let registry = registry();
    let error = registry.check_backend("BackendWithCompilerDem").unwrap_err();
    assert_eq!(error.status, 0x20);
    assert!(error.to_string().starts_with("NotFound: "), "{error}");
    assert!(error.text.contains("BackendWithCompilerDemo"), "{error}");
    assert!(Program::open("/nowhere/model.pte").is_err());
    assert!(Program::open("a\0b").is_err());
    assert!(Program::from_bytes(b"no program", "bytes").is_err());
    registry.discover(&[std::path::Path::new("/nowhere")]).unwrap();
}

#[test]
fn what_would_be_unsafe_is_refused() {
    let mut method = load(&program(), &registry());
    let values = [0.5_f32; 4];
    let refused = |inputs: &[Input], method: &mut Method| -> Error {
        method.run(inputs).map(|_| ()).unwrap_err()
    };
    assert!(refused(&[], &mut method).text.contains("expected 1 inputs, found 0"));
    assert!(refused(&[Input::new(&values[..3], &SHAPE)], &mut method).text.contains("differ"));
    assert!(refused(&[Input::new(&values, &[1, -4])], &mut method).text.contains("differ"));
    assert!(refused(&[Input::new(&[0.5_f64; 4], &SHAPE)], &mut method).status == 0x12);
    let inputs = [Input::new(&values, &SHAPE)];
    let outputs = method.run(&inputs).unwrap();
    assert!(outputs.get::<f64>(0).unwrap_err().text.contains("f64"));
    assert!(outputs.get::<f32>(1).is_err());
}

#[test]
fn a_program_of_bytes_needs_no_alignment() {
    let bytes = std::fs::read(path("TENON_TEST_MODEL")).unwrap();
    let mut shifted = vec![0; 1];
    shifted.extend(bytes);
    let program = Program::from_bytes(&shifted[1..], "bytes").unwrap();
    drop(shifted);
    check_sines(&mut load(&program, &registry()), [0.1, 0.2, 0.3, 0.4]);
}

#[test]
fn threads_share_a_program_and_move_methods() {
    let (program, registry) = (program(), registry());
    thread::scope(|scope| {
        let (program, registry) = (&program, &registry);
        let work = |number: i32| {
            for run in 0..25 {
                let mut method = load(program, registry);
                let x = (number * 25 + run) as f32 / 10.0;
                thread::scope(|inner| {
                    let moved = inner.spawn(move || {
                        check_sines(&mut method, [x, x + 1.0, x + 2.0, x + 3.0]);
                    });
                    moved.join().unwrap();
                });
                assert!(registry.check_backend("Other").is_err());
            }
        };
        let threads: Vec<_> = (0..4).map(|number| scope.spawn(move || work(number))).collect();
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn a_run_is_cancelled_from_another_thread() {
    let registry = Registry::new().unwrap();
    registry.register_plugin(path("TENON_TEST_COUNTING")).unwrap();
    let program = Program::open(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wait.pte")).unwrap();
    let options = MethodOptions { registry: Some(&registry), cancellable: true };
    let mut method = Method::load(&program, "forward", options).unwrap();
    let canceller = method.canceller();
    let values = [1_f32; 4];
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(std::time::Duration::from_millis(20));
            canceller.cancel().unwrap();
        });
        let error = method.run(&[Input::new(&values, &[4])]).map(|_| ()).unwrap_err();
        assert_eq!(error.status, CANCELLED);
    });
    let session = method.create_session().unwrap();
    method.use_session(Some(&session)).unwrap();
    drop(method);
    drop(session);
    canceller.cancel().unwrap();
}

/// `send::<T>()` compiles where `T` is `Send`, `NotSync` where it is not `Sync`.
#[test]
fn types_are_shared_as_the_contract_says() {
    trait NotSync<Marker> {
        fn exists() {}
    }
    impl<T: ?Sized> NotSync<()> for T {}
    struct Ambiguous;
    impl<T: ?Sized + Sync> NotSync<Ambiguous> for T {}

    fn send<T: Send>() {}
    fn sync<T: Sync>() {}
    send::<Registry>();
    sync::<Registry>();
    send::<Program>();
    sync::<Program>();
    send::<Method>();
    <Method as NotSync<_>>::exists();
    send::<Session>();
    send::<Canceller>();
    sync::<Canceller>();
}
