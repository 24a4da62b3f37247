! A sum for each thread, side by side in an array.
program sums_of_threads
   use omp_lib
   implicit none
   integer, parameter :: threads = 4
   real(8), save :: sums(threads)
   real(8), volatile :: values(1000)
   real(8) :: total
   integer :: i, own

   total = 0
   values = 2
#ifdef FIX
!$omp parallel do num_threads(threads) reduction(+:total)
   do i = 1, 200000000
      total = total + values(mod(i, 1000) + 1)
   end do
#else
   sums = 0
!$omp parallel num_threads(threads) private(own)
   own = omp_get_thread_num() + 1
!$omp do
   do i = 1, 200000000
      call add(sums(own), values(mod(i, 1000) + 1))
   end do
!$omp end parallel
   total = sum(sums)
#endif
   print *, total

contains

   subroutine add(to, what)
      real(8), volatile, intent(inout) :: to
      real(8), intent(in) :: what
      to = to + what
   end subroutine
end program
