! A sum by OpenMP's reduction: each thread has its own until the end.
program reduction
   implicit none
   real(8) :: total, values(1000)
   integer :: i

   values = 2
   total = 0
!$omp parallel do num_threads(4) reduction(+:total)
   do i = 1, 400000000
      total = total + values(mod(i, 1000) + 1)
   end do
   print *, total
end program
