! An element of derived type for each thread, in which it counts.
program steps
  use omp_lib
  implicit none
  type statistics
    integer(8) :: steps = 0
    integer(8) :: of_kind(2) = 0
  end type
  integer, parameter :: threads = 4, particles = 4000
#ifdef FIX
  type padded
    type(statistics) :: own
    integer(8) :: unused(13)
  end type
  type(padded) :: of_thread(threads)
#define OWN of_thread(self)%own
#else
  type(statistics) :: of_thread(threads)
#define OWN of_thread(self)
#endif
  integer :: self, step, particle, kind(particles)
  real(8) :: random(particles)
  call random_number(random)
  kind = 1 + int(2 * random)
  !$omp parallel num_threads(threads) private(self, step, particle)
  self = omp_get_thread_num() + 1
  do step = 1, 30000
    do particle = 1, particles
      OWN%of_kind(kind(particle)) = OWN%of_kind(kind(particle)) + 1
    end do
    OWN%steps = OWN%steps + 1
  end do
  !$omp end parallel
#ifdef FIX
  print *, sum(of_thread%own%steps)
#else
  print *, sum(of_thread%steps)
#endif
end program
