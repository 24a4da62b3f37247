! Counters of two threads, side by side in a common block.
program common_counters
   implicit none
   integer(8) :: hits, misses
#ifdef FIX
   integer(8) :: unused(8)
   common /state/ hits, unused, misses
#else
   common /state/ hits, misses
#endif
   volatile :: hits, misses
   integer :: i

   hits = 0
   misses = 0
!$omp parallel sections num_threads(2) private(i)
!$omp section
   do i = 1, 200000000
      hits = hits + 1
   end do
!$omp section
   do i = 1, 200000000
      misses = misses + 1
   end do
!$omp end parallel sections
   print *, hits, misses
end program
