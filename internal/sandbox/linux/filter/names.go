//go:build linux

package filter

import "strings"

// allowed lists the system calls that need no look at their arguments, by what programs use them for. A name that the
// target architecture does not have (open, fork ... on arm64) is left out; one that neither has is an error of Build.
// Left out on purpose although common elsewhere: io_setup and io_uring (asynchronous file access), name_to_handle_at,
// mq_*, modify_ldt, memfd_secret, pidfd_send_signal (a /proc directory is accepted as the target), tkill (it has no
// process to check), process_madvise, process_mrelease, move_pages, file_setattr.
var allowed = strings.Fields(`
read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek sendfile splice tee vmsplice
copy_file_range readahead fadvise64 sync_file_range sync syncfs fsync fdatasync fallocate truncate ftruncate

close close_range dup dup2 dup3 pipe pipe2 flock
access faccessat faccessat2 stat fstat lstat newfstatat statx statfs fstatfs getdents getdents64 getcwd
chdir fchdir umask readlink readlinkat cachestat

rmdir unlink unlinkat rename renameat renameat2 link linkat symlink symlinkat
chown fchown lchown fchownat utime utimes futimesat utimensat
setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr
removexattr lremovexattr fremovexattr setxattrat getxattrat listxattrat removexattrat

munmap mprotect mremap msync mincore madvise brk mlock mlock2 munlock mlockall munlockall
pkey_alloc pkey_free pkey_mprotect mseal map_shadow_stack membarrier get_mempolicy set_mempolicy mbind
shmat shmctl shmdt semget semop semtimedop semctl msgget msgsnd msgrcv msgctl

poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2
eventfd eventfd2 signalfd signalfd4 timerfd_create timerfd_settime timerfd_gettime
inotify_init inotify_init1 inotify_add_watch inotify_rm_watch

execve execveat exit exit_group wait4 waitid set_tid_address get_robust_list rseq
futex futex_waitv futex_wake futex_wait futex_requeue restart_syscall arch_prctl
getpid getppid gettid getpgid setpgid getpgrp getsid setsid
getuid geteuid getgid getegid getgroups getresuid getresgid setuid setgid setreuid setregid setgroups
setresuid setresgid setfsuid setfsgid capget capset
landlock_create_ruleset landlock_add_rule landlock_restrict_self

rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigsuspend sigaltstack pause
alarm getitimer setitimer timer_create timer_settime timer_gettime timer_getoverrun timer_delete
nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday time times

getrlimit getrusage getpriority ioprio_get sched_yield sched_getaffinity sched_getparam sched_getscheduler
sched_getattr sched_get_priority_max sched_get_priority_min sched_rr_get_interval getcpu
uname sysinfo getrandom lsm_get_self_attr lsm_list_modules

connect accept accept4 bind listen recvfrom recvmsg recvmmsg shutdown
getsockname getpeername getsockopt
`)
