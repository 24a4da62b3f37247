//! The shape of a thread matrix, where it has one (ComDetective 4.2 and thesis chapter 5 name the first three).
//!
//! A name is a claim, so each rule asks for nearly all of the volume, and too little data has no shape.

use carom_base::ThreadId;

use super::{Matrix, Pattern};

/// With three threads a star and a chain are the same, and a ring is complete.
const FEWEST_THREADS: usize = 4;

/// Events per thread below which chance alone draws shapes: at ten, a pair's volume in a star or a chain is
/// known to about a third.
const EVENTS_PER_THREAD: usize = 10;

/// Events per pair that "with every other" needs; chance alone then spreads pairs by 45% of their mean, less
/// than what [`ABOUT_EQUAL`] lets pass.
const EVENTS_PER_PAIR: usize = 5;

/// A thread with less than this part of the mean volume per thread does not take part: a main thread that
/// only starts and joins the others.
const TAKES_PART: f64 = 0.1;

/// The part of the volume that a shape must explain. The rest is noise and start-up.
const NEARLY_ALL: f64 = 0.8;

/// Groups are apart where every link within one is this many times stronger than every link between two. A chain or a
/// star with random volumes has no such step.
const GROUP_GAP: f64 = 4.0;

/// The part of the other threads that must exchange more with the master than with all others together.
/// Without it one strong pair among weak ones would be a master with its worker.
const MOST_WORKERS: f64 = 0.8;

/// Pairs are "about equal" while their standard deviation is at most this part of their mean, chance left out.
const ABOUT_EQUAL: f64 = 0.5;

/// The pattern of a directed matrix made of `events` events, if it clearly has one.
///
/// Neighbours are threads whose numbers follow each other among those that take part; the ends may be neighbours
/// too (a ring). Decompositions in two or three dimensions, whose neighbours lie farther apart, get no name.
pub(super) fn pattern(matrix: &Matrix<ThreadId>, events: usize) -> Option<Pattern> {
    let graph = Graph::of(matrix)?;
    let threads = graph.threads.len();
    if events < EVENTS_PER_THREAD * threads {
        return None;
    }
    graph
        .master()
        .or_else(|| graph.groups())
        .or_else(|| graph.neighbours())
        .or_else(|| graph.all_to_all(events))
}

/// The threads that take part and the volume between them, without direction.
struct Graph {
    threads: Vec<ThreadId>,
    /// Symmetric, with nothing on the diagonal.
    volume: Vec<Vec<f64>>,
    /// Of all pairs, each once.
    total: f64,
}

impl Graph {
    fn of(matrix: &Matrix<ThreadId>) -> Option<Self> {
        let symmetric = matrix.symmetric().all;
        let between = |i: usize, j: usize| if i == j { 0.0 } else { symmetric[i][j] };
        let n = symmetric.len();
        let busy: Vec<f64> = (0..n).map(|i| (0..n).map(|j| between(i, j)).sum()).collect();
        let active = busy.iter().filter(|v| **v > 0.0).count();
        let least = busy.iter().sum::<f64>() / active.max(1) as f64 * TAKES_PART;
        let part: Vec<usize> = (0..n).filter(|i| busy[*i] > 0.0 && busy[*i] >= least).collect();
        let volume: Vec<Vec<f64>> =
            part.iter().map(|i| part.iter().map(|j| between(*i, *j)).collect()).collect();
        let total = volume.iter().flatten().sum::<f64>() / 2.0;
        let threads: Vec<ThreadId> = part.iter().filter_map(|i| matrix.labels.get(*i).copied()).collect();
        (threads.len() == part.len() && part.len() >= FEWEST_THREADS && total > 0.0).then_some(Self {
            threads,
            volume,
            total,
        })
    }

    /// One thread is at one end of nearly all volume, and of most of the volume of each other thread.
    fn master(&self) -> Option<Pattern> {
        let busy: Vec<f64> = self.volume.iter().map(|row| row.iter().sum()).collect();
        let (master, busiest) = busy.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))?;
        let workers = (0..busy.len()).filter(|i| self.volume[master][*i] > busy[*i] / 2.0).count();
        let others = busy.len() - 1;
        (*busiest >= NEARLY_ALL * self.total && workers as f64 >= MOST_WORKERS * others as f64)
            .then(|| Pattern::MasterWorker { master: self.threads[master] })
    }

    /// Single-linkage clusters, cut at the first clear step in the strength of links. J. C. Gower and G. J. S.
    /// Ross, "Minimum spanning trees and single linkage cluster analysis", Applied Statistics 18 (1969) 54-64.
    fn groups(&self) -> Option<Pattern> {
        let n = self.threads.len();
        let mut links: Vec<(f64, usize, usize)> = (0..n)
            .flat_map(|i| (i + 1..n).map(move |j| (i, j)))
            .map(|(i, j)| (self.volume[i][j], i, j))
            .collect();
        links.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut group: Vec<usize> = (0..n).collect();
        let mut weakest_within = f64::INFINITY;
        for (strength, i, j) in links {
            let (a, b) = (group[i], group[j]);
            if a == b {
                continue;
            }
            if strength * GROUP_GAP <= weakest_within && self.are_groups(&group) {
                return Some(Pattern::Groups(self.members(&group)));
            }
            group.iter_mut().filter(|g| **g == b).for_each(|g| *g = a);
            weakest_within = strength;
        }
        None
    }

    /// Every thread has a partner, there are at least two groups, and nearly all volume stays inside them.
    fn are_groups(&self, group: &[usize]) -> bool {
        let n = group.len();
        let alone = |i: usize| group.iter().filter(|g| **g == group[i]).count() == 1;
        let inside: f64 = (0..n)
            .flat_map(|i| (i + 1..n).map(move |j| (i, j)))
            .filter(|(i, j)| group[*i] == group[*j])
            .map(|(i, j)| self.volume[i][j])
            .sum();
        group.iter().any(|g| *g != group[0]) && !(0..n).any(alone) && inside >= NEARLY_ALL * self.total
    }

    fn members(&self, group: &[usize]) -> Vec<Vec<ThreadId>> {
        let mut first_of: Vec<usize> = Vec::new();
        let mut members: Vec<Vec<ThreadId>> = Vec::new();
        for (i, g) in group.iter().enumerate() {
            match first_of.iter().position(|f| f == g) {
                Some(at) => members[at].push(self.threads[i]),
                None => {
                    first_of.push(*g);
                    members.push(vec![self.threads[i]]);
                }
            }
        }
        members
    }

    /// Nearly all volume is between neighbours, and all neighbours exchange some.
    fn neighbours(&self) -> Option<Pattern> {
        let n = self.threads.len();
        let chain: Vec<f64> = (1..n).map(|i| self.volume[i - 1][i]).collect();
        let inner: f64 = chain.iter().sum();
        let all = inner + self.volume[0][n - 1];
        let least = inner / chain.len() as f64 / GROUP_GAP;
        (all >= NEARLY_ALL * self.total && chain.iter().all(|v| *v >= least))
            .then_some(Pattern::NearestNeighbour)
    }

    /// Pairs have about equal volumes. Counts of `events` / pairs each would by chance alone have a squared
    /// coefficient of variation of one over that number (Poisson); weights make it larger, so that this
    /// errs on the side of no name.
    fn all_to_all(&self, events: usize) -> Option<Pattern> {
        let n = self.threads.len();
        let pairs = n * (n - 1) / 2;
        if events < EVENTS_PER_PAIR * pairs {
            return None;
        }
        let mean = self.total / pairs as f64;
        let squares: f64 = (0..n)
            .flat_map(|i| (i + 1..n).map(move |j| (i, j)))
            .map(|(i, j)| (self.volume[i][j] / mean - 1.0).powi(2))
            .sum();
        let chance = pairs as f64 / events as f64;
        (squares / pairs as f64 <= ABOUT_EQUAL.powi(2) + chance).then_some(Pattern::AllToAll)
    }
}

#[cfg(test)]
mod tests;
