! A parallel loop over the first index of a matrix, whose columns lie in one piece.
program columns
   implicit none
   integer, parameter :: n = 64, m = 4000
   real(8) :: a(n, m)
   integer :: i, j, round

   a = 0
   do round = 1, 400
#ifdef FIX
!$omp parallel do private(i) num_threads(4)
      do j = 1, m
         do i = 1, n
#else
!$omp parallel do private(j) num_threads(4) schedule(static, 1)
      do i = 1, n
         do j = 1, m
#endif
            a(i, j) = a(i, j) + 0.5d0*i
         end do
      end do
   end do
   print *, sum(a)
end program
