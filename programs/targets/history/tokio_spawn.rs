//! Four tasks, each of which spawns small tasks and waits for them.

const ROUNDS: u64 = 2_500;
const TASKS: u64 = 500;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).build().expect("a runtime");
    let sum: u64 = runtime.block_on(async {
        let spawners: Vec<_> = (0..4).map(|_| tokio::spawn(spawn_many())).collect();
        let mut sum = 0;
        for spawner in spawners {
            sum += spawner.await.expect("no task panics");
        }
        sum
    });
    println!("{sum}");
}

async fn spawn_many() -> u64 {
    let mut sum = 0;
    for round in 0..ROUNDS {
        let tasks: Vec<_> = (0..TASKS).map(|task| tokio::spawn(async move { round ^ task })).collect();
        for task in tasks {
            sum += task.await.expect("no task panics");
        }
    }
    sum
}
