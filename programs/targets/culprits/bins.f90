! A histogram whose bins all threads add to.
program bins
   use omp_lib
   implicit none
   integer, parameter :: number = 64, values = 40000000
   integer :: histogram(number), i, bin
   integer(8) :: random

   histogram = 0
#ifdef FIX
!$omp parallel private(random, bin) reduction(+: histogram) num_threads(4)
#else
!$omp parallel private(random, bin) num_threads(4)
#endif
   random = omp_get_thread_num() + 17
!$omp do
   do i = 1, values
      random = mod(random*1103515245_8 + 12345_8, 2147483648_8)
      bin = int(random/65536_8)
      bin = mod(bin, number) + 1
#ifndef FIX
!$omp atomic
#endif
      histogram(bin) = histogram(bin) + 1
   end do
!$omp end parallel
   print *, sum(histogram)
end program
