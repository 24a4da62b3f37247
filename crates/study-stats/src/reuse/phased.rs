//! StatStack for programs with phases.

use super::distances::{Distances, Step};
use super::incidence::{End, Incidence, Observation};
use super::stat_stack::whole_places;

/// The number of observations in the shortest part of a program that is considered on its own.
const EPOCH: usize = 64;

/// Two parts of a program behave differently if they are this many standard errors apart. There are many pairs to
/// compare, so a lower limit would find differences where there are none.
const DIFFERENT: f64 = 3.0;

/// The expected stack distance of each observed reuse, `None` for other outcomes; from observations in the order of
/// their uses, and the program's number of accesses.
///
/// [`Distances::places_among`] gives the number of places that a program accesses in a number of accesses *on
/// average*; but a reuse spans accesses of one phase. Here each reuse is judged by the observations of its own time.
/// The program is cut into epochs with equal numbers of observations, pairs of them form longer ones, and so on up to
/// the whole. A reuse is judged by an epoch around its middle that is no shorter than its distance. Of these the
/// longest is used up to which none differs from the next one by more than chance, because more observations are more
/// precise. (Eklov and Hagersten, ISPASS 2010, likewise model a window of time at once; the choice of windows is our
/// own.)
pub fn phased_places(observations: &[Observation], accesses: u64) -> Vec<Option<u64>> {
    let Some(whole) = Incidence::of(observations.iter().copied()) else {
        return vec![None; observations.len()];
    };
    places(observations, &Epochs::new(observations, &whole, accesses)).collect()
}

/// The stack distances of a program: [`phased_places`] of all reuses. `None` without any weight.
pub fn phased_stack_distances(observations: &[Observation], accesses: u64) -> Option<Distances> {
    let whole = Incidence::of(observations.iter().copied())?;
    let epochs = Epochs::new(observations, &whole, accesses);
    let steps = observations.iter().zip(places(observations, &epochs)).filter_map(|(it, places)| {
        let places = places?;
        Some(Step { low: places, high: places, reused: whole.mass(it), lost: 0.0 })
    });
    let distances = whole.distances();
    Distances::new(steps.collect(), distances.lost(), distances.never())
}

fn places(observations: &[Observation], epochs: &Epochs) -> impl Iterator<Item = Option<u64>> {
    // Uses of one time have often been reused at one distance: what was found last for each, by the lowest bits of the distance.
    const REMEMBERED: usize = 256;
    let mut last = [(usize::MAX, 0, 0.0); REMEMBERED];
    observations.iter().enumerate().map(move |(index, it)| {
        if it.end != End::Reused {
            return None;
        }
        let shortest = epochs.shortest(index, it.distance);
        let last = &mut last[it.distance as usize % REMEMBERED];
        if (last.0, last.1) != (shortest, it.distance) {
            *last = (shortest, it.distance, epochs.places_among(shortest, it.distance));
        }
        Some(whole_places(last.2))
    })
}

/// The parts of a program.
struct Epochs {
    /// For each observation, the accesses before it; and the number of all accesses.
    positions: Vec<f64>,
    /// The shortest first; each epoch of the next level consists of two of the level before.
    levels: Vec<Vec<Epoch>>,
}

impl Epochs {
    fn new(observations: &[Observation], whole: &Incidence, accesses: u64) -> Self {
        let masses: Vec<_> = observations.iter().map(|it| (it, whole.mass(it))).collect();
        let total: f64 = masses.iter().map(|(_, mass)| mass).sum();
        let mut positions = vec![0.0];
        positions.extend(masses.iter().scan(0.0, |sum, (_, mass)| {
            *sum += mass / total * accesses as f64;
            Some(*sum)
        }));
        let (mut levels, mut length): (Vec<Vec<Epoch>>, _) = (Vec::new(), EPOCH);
        while levels.last().is_none_or(|level| level.len() > 1) {
            levels.push(masses.chunks(length).map(Epoch::new).collect());
            length = length.saturating_mul(2);
        }
        Self { positions, levels }
    }

    /// The accesses before an observation; all of them behind the last one.
    fn at(&self, index: usize) -> f64 {
        self.positions.get(index).or(self.positions.last()).copied().unwrap_or(0.0)
    }

    /// The shortest epoch around the middle between an observation's use and its reuse.
    fn shortest(&self, index: usize, distance: u64) -> usize {
        let middle = self.at(index) + distance as f64 / 2.0;
        let last = self.positions.len().saturating_sub(2);
        let behind = self.positions.partition_point(|position| *position <= middle);
        behind.saturating_sub(1).min(last) / EPOCH
    }

    /// The expected number of places in so many accesses around the shortest epoch with this number.
    fn places_among(&self, shortest: usize, distance: u64) -> f64 {
        let mut length = EPOCH;
        let mut chosen: Option<Estimate> = None;
        for (halvings, level) in self.levels.iter().enumerate() {
            let epoch = shortest >> halvings;
            let spans = self.at((epoch + 1).saturating_mul(length)) - self.at(epoch * length);
            let candidate = level.get(epoch).map(|epoch| epoch.places_among(distance));
            match (chosen, candidate) {
                (Some(shorter), Some(longer)) if shorter.differs_from(longer) => break,
                (None, _) if spans < distance as f64 && level.len() > 1 => {}
                (_, longer) => chosen = longer.or(chosen),
            }
            length = length.saturating_mul(2);
        }
        chosen.map_or(0.0, |estimate| estimate.places)
    }
}

/// A number of places with its precision.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    places: f64,
    variance: f64,
}

impl Estimate {
    /// The longer epoch contains the shorter one, so the difference is more precise than the shorter one is.
    fn differs_from(self, longer: Self) -> bool {
        let apart = self.places - longer.places;
        apart * apart > DIFFERENT * DIFFERENT * (self.variance - longer.variance).max(0.0) + self.rounding()
    }

    fn rounding(self) -> f64 {
        let least = self.places * f64::EPSILON.sqrt();
        least * least
    }
}

/// The lives of uses in one part of the program: from the use to its end, including the access that ends it.
struct Epoch {
    /// Ascending: lives, with the sums, up to and including this one, of their masses, of the masses times lives, and
    /// times squared lives.
    lives: Vec<(f64, [f64; 3])>,
    squares: f64,
}

impl Epoch {
    fn new(uses: &[(&Observation, f64)]) -> Self {
        let life =
            |it: &Observation| if it.end == End::Never { f64::INFINITY } else { it.distance as f64 + 1.0 };
        let mut lives: Vec<_> = uses.iter().map(|(it, mass)| (life(it), *mass)).collect();
        lives.sort_by(|a, b| a.0.total_cmp(&b.0));
        let squares = lives.iter().map(|(_, mass)| mass * mass).sum();
        let sums = lives.into_iter().scan([0.0; 3], |[masses, first, second], (life, mass)| {
            *masses += mass;
            if life.is_finite() {
                *first += mass * life;
                *second += mass * life * life;
            }
            Some((life, [*masses, *first, *second]))
        });
        Self { lives: sums.collect(), squares }
    }

    /// The sum of the survival over all smaller distances is the mean of min(life, distance).
    fn places_among(&self, distance: u64) -> Estimate {
        let limit = distance as f64;
        let all = self.lives.last().map_or(0.0, |(_, [masses, ..])| *masses);
        let below = self.lives.partition_point(|(life, _)| *life < limit);
        let sums =
            below.checked_sub(1).and_then(|index| self.lives.get(index)).map_or([0.0; 3], |(_, sums)| *sums);
        let [masses, first, second] = sums;
        if all <= 0.0 {
            return Estimate { places: limit, variance: f64::INFINITY };
        }
        let mean = (first + (all - masses) * limit) / all;
        let square = (second + (all - masses) * limit * limit) / all;
        // The variance of a weighted mean, by the effective number of observations.
        let variance = (square - mean * mean).max(0.0) * self.squares / (all * all);
        Estimate { places: mean, variance }
    }
}
